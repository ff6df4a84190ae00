"""An engine of queues over a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from emulator.clock import Clock
from emulator.events import Events
from extensions.queues.engine import Address, Held, MessageToPost, QueueEngine
from rdss_sandbox.shapes.events import Event

NOON = 1_790_000_000.0
QUEUE = Address("project", "queue")


@dataclass
class Room:
    """An engine whose process can end and begin again."""

    path: Path | None
    clock: Clock
    events: Events
    engine: QueueEngine

    def restart(self, after: float = 0) -> None:
        """End the engine and open another on the same journal, ``after`` seconds later."""
        self.engine.close()
        self.clock.advance(after)
        self.engine = QueueEngine(self.path, self.clock, self.events)

    def post(self, *bodies: bytes, ttl: int = 3600, delay: int = 0, at: Address = QUEUE) -> list[str]:
        return self.engine.messages.post(at, [MessageToPost(body, ttl, delay) for body in bodies], "poster")

    def claim(self, limit: int = 1, ttl: int = 60, grace: int = 60, client: str = "worker") -> Held | None:
        return self.engine.claims.create(QUEUE, ttl=ttl, grace=grace, limit=limit, client=client)

    def claimed(self, limit: int = 1, **options: Any) -> list[str]:
        """The ids of the messages that a new claim holds."""
        held = self.claim(limit, **options)
        return [message.id for message in held.messages] if held else []

    def told(self, kind: str) -> list[Event]:
        return [event for event in self.events.since(limit=100_000) if event.kind == f"queue.{kind}"]


def room(path: Path | None) -> Room:
    clock = Clock(frozen_at=NOON)
    events = Events(clock, keep=100_000)
    return Room(path, clock, events, QueueEngine(path, clock, events))


@pytest.fixture
def queues(tmp_path: Path) -> Iterator[Room]:
    found = room(tmp_path / "queues.log")
    yield found
    found.engine.close()
