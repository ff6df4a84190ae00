"""The one event stream: whatever happens is an event, and whoever wants to know subscribes.

Logs, metrics, the TUI and run reports read from here; nothing else prints.
Work on the hot path emits one event a batch, not one a message: what happened
to a single message is read from the message index.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import msgspec

from emulator.clock import Clock


class Event(msgspec.Struct, frozen=True):
    """One thing that happened: ``id`` counts from 1 without gaps, ``time`` is in seconds since the epoch."""

    id: int
    time: float
    kind: str
    fields: dict[str, Any]


class EventLog(Protocol):
    """Where events are kept beyond memory: an append-only log of payloads at positions."""

    def append(self, payload: bytes) -> int: ...
    def entries(self, start: int = 0) -> Iterator[tuple[int, bytes]]: ...
    def forget(self, before: int) -> None: ...


_INDEX_EVERY = 512
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Event).decode


def event_of(flat: dict[str, Any]) -> Event:
    """The event of the control API's flat form: its fields beside its id, time and kind."""
    rest = {name: value for name, value in flat.items() if name not in {"id", "time", "kind"}}
    return Event(flat["id"], flat["time"], flat["kind"], rest)


class Events:
    """Emit, read back by cursor, subscribe, follow.

    The last ``keep`` events are held in memory; with a ``log`` all of them
    can be read back, also by the next process on the same log.
    """

    def __init__(self, clock: Clock, log: EventLog | None = None, keep: int = 10_000) -> None:
        self._clock = clock
        self._log = log
        self._recent: deque[Event] = deque(maxlen=keep)
        self._positions: list[int] = []
        self._subscribers: list[Callable[[Event], None]] = []
        self._lock = threading.RLock()
        self.last = 0
        for position, payload in log.entries() if log else ():
            self._remember(_decode(payload), position)

    def emit(self, kind: str, **fields: Any) -> Event:
        """Record that ``kind`` happened now, with these JSON-able fields, and tell the subscribers."""
        with self._lock:
            event = Event(self.last + 1, self._clock.time(), kind, fields)
            position = self._log.append(_encode(event)) if self._log else 0
            self._remember(event, position)
            subscribers = tuple(self._subscribers)
        for subscriber in subscribers:
            subscriber(event)
        return event

    def since(self, cursor: int = 0, limit: int = 1000) -> list[Event]:
        """Up to ``limit`` events with an id above ``cursor``, oldest first."""
        with self._lock:
            oldest = self._recent[0].id if self._recent else self.last + 1
            if cursor + 1 >= oldest or self._log is None:
                skip = max(0, cursor + 1 - oldest)
                return [self._recent[i] for i in range(skip, min(skip + limit, len(self._recent)))]
            start = self._positions[cursor // _INDEX_EVERY]
        found: list[Event] = []
        for _, payload in self._log.entries(start):
            event = _decode(payload)
            if event.id > cursor:
                found.append(event)
                if len(found) == limit:
                    break
        return found

    def prune(
        self, older_than: float | None, keep_bytes: int | None, *, dry_run: bool = False
    ) -> tuple[int, int, int]:
        """Remove events older than so many clock seconds, and the oldest of what is more than so many bytes.

        How many they are, their bytes, and how many are kept. The newest always is, so that numbers go on
        where they were. Raises OSError, and has then removed none.
        """
        oldest = -1.0 if older_than is None else self._clock.time() - older_than
        last, most = self.last, float("inf") if keep_bytes is None else keep_bytes
        left = sum(len(payload) for _, payload in self._payloads())
        removed = size = first = 0
        for position, payload in self._payloads():
            event, first = _decode(payload), position
            if event.id >= last or (event.time >= oldest and left - size <= most):
                break
            removed, size = removed + 1, size + len(payload)
        if removed and not dry_run:
            if self._log is not None:
                self._log.forget(first)
            with self._lock:
                while self._recent and self._recent[0].id < event.id:
                    self._recent.popleft()
        return removed, size, last - event.id + 1 if last else 0

    def _payloads(self) -> Iterable[tuple[int, bytes]]:
        return self._log.entries() if self._log else [(0, _encode(event)) for event in tuple(self._recent)]

    @contextmanager
    def subscribed(self, subscriber: Callable[[Event], None]) -> Iterator[None]:
        """Have ``subscriber`` called with every event, on the emitter's thread, while the context lasts."""
        with self._lock:
            self._subscribers.append(subscriber)
        try:
            yield
        finally:
            with self._lock:
                self._subscribers.remove(subscriber)

    async def follow(self, cursor: int) -> AsyncGenerator[Event, None]:
        """Every event after ``cursor``, past and to come, without a gap."""
        loop = asyncio.get_running_loop()
        more = asyncio.Event()

        def wake(_: Event) -> None:
            loop.call_soon_threadsafe(more.set)

        with self.subscribed(wake):
            while True:
                more.clear()
                while batch := self.since(cursor):
                    for event in batch:
                        yield event
                    cursor = batch[-1].id
                await more.wait()

    def _remember(self, event: Event, position: int) -> None:
        while len(self._positions) * _INDEX_EVERY < event.id:
            self._positions.append(position)
        self._recent.append(event)
        self.last = event.id
