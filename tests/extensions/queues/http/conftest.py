"""The messaging API in this process, over a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from emulator.clock import Clock
from emulator.events import Events
from extensions.queues.engine import QueueEngine
from extensions.queues.http import QueuesApp

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
            "type": "http",
            "method": method,
            "path": unquote(raw_path),
            "raw_path": raw_path.encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
        messages: list[MutableMapping[str, Any]] = []

        async def receive() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            messages.append(message)

        asyncio.run(self._app(scope, receive, send))
        start, end = messages
        shown = {name.decode(): value.decode() for name, value in start["headers"]}
        return AnsweredReply(start["status"], shown, b"" if method == "HEAD" else end["body"])

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)


@pytest.fixture
def in_process() -> InProcess:
    return InProcess()
