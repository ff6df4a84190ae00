"""The messaging API in this process, over a clock that stands still."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest

from emulator.clock import Clock
from emulator.events import Events
from emulator.queues.engine import QueueEngine
from emulator.queues.http import QueuesApp

NOON = 1_790_000_000.0


@dataclass(frozen=True)
class AnsweredReply:
    status: int
    headers: Mapping[str, str]
    body: bytes


class InProcess:
    """The application without a port in front."""

    def __init__(self, journal: Path | None = None) -> None:
        self.clock = Clock(frozen_at=NOON)
        self.events = Events(self.clock)
        self.engine = QueueEngine(journal, self.clock, self.events)
        self._app = QueuesApp(self.engine, self.events)

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> AnsweredReply:
        raw_path, _, query = path.partition("?")
        scope = {
            "method": method,
            "path": unquote(raw_path),
            "raw_path": raw_path.encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
        answer = self._app.answer(scope, body)
        shown = {name.decode(): value.decode() for name, value in answer.all_headers()}
        return AnsweredReply(answer.status, shown, b"" if method == "HEAD" else answer.body)

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)


@pytest.fixture
def in_process() -> InProcess:
    return InProcess()
