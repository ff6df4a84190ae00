"""Applications on channels in memory, each with its own repository, on a clock that takes no time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from emulator.channels.memory import DEFAULT_SCOPE
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine
from tests.sandbox.applications.application_streams import NOW, STREAMS, Streams


@pytest.fixture
def streams(tmp_path: Path) -> Iterator[Streams]:
    clock = Clock(frozen_at=NOW, autojump=True)
    with ExitStack() as stack:
        engine = stack.enter_context(closing(Engine(None, clock, Events(clock))))
        for name in STREAMS:
            engine.call("CreateStream", {"StreamName": name, "ShardCount": 1}, DEFAULT_SCOPE)
        yield Streams(tmp_path, clock, engine, stack)
