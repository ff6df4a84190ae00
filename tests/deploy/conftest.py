"""What a unit, a Compose file or a chart starts, started on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

TOKEN = "a-token-of-the-team"
_PORTS = ("AWS", "CONTROL", "AMQP", "AMQP_MANAGEMENT", "QUEUES", "TOPICS")


@contextmanager
def _start(arguments: Sequence[str], variables: Mapping[str, str], folder: Path) -> Iterator[dict[str, Any]]:
    own = {name: each for name, each in os.environ.items() if not name.startswith(("SANDBOX_", "AWS_"))}
    free = {f"SANDBOX_{each}_PORT": "0" for each in _PORTS}
    command = [sys.executable, "-m", "sandbox", *arguments, "--host", "127.0.0.1", "--json"]
    with subprocess.Popen(
        command, cwd=folder, env={**own, **variables, **free}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
            code = process.wait(20)
    assert code == 0, "an end by SIGTERM is none that systemd or Kubernetes calls a failure"


@pytest.fixture
def start() -> Iterator[Callable[..., dict[str, Any]]]:
    """Start a sandbox by arguments, variables and a folder, on free ports of loopback; return where it is."""
    with ExitStack() as stack:
        yield lambda *given: stack.enter_context(_start(*given))
