"""The one event stream: everything that happens is an event, and consumers subscribe.

Logs, metrics, the TUI and run reports read from here; nothing else prints.
The hot path emits one event per batch, not one per message. What happened to
a single message is read from the message index.
"""

from __future__ import annotations

import asyncio
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import msgspec

from emulator.clock import Clock
from rdss_sandbox.shapes.events import Event


class EventLog(Protocol):
    """Durable storage for events: an append-only log of payloads at positions."""

    def append(self, payload: bytes) -> int: ...
    def entries(self, start: int = 0) -> Iterator[tuple[int, bytes]]: ...
    def forget(self, before: int) -> None: ...


class _Written(NamedTuple):
    """An event and its payload in the log."""

    event: Event
    payload: bytes


class _Unwritten:
    """Events that the log could not take: the last ``most``, and the number ``lost`` before those."""

    def __init__(self, most: int) -> None:
        self.held: deque[_Written] = deque(maxlen=most)
        self.lost = 0
        self.why = ""

    def hold(self, written: _Written) -> None:
        self.lost += len(self.held) == self.held.maxlen
        self.held.append(written)


_INDEX_EVERY = 512
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Event).decode


class Events:
    """Emit, read back by cursor, subscribe, follow. Thread-safe.

    The last ``keep`` events are held in memory. With a ``log`` all events can be read
    back, also by the next process. When the log cannot take an event, as on a full disk,
    the event is held until it can. The event ``events.unwritten`` tells of the trouble,
    and ``events.written`` of its end.
    """

    def __init__(self, clock: Clock, log: EventLog | None = None, keep: int = 10_000) -> None:
        self._clock = clock
        self._log = log
        self._recent: deque[Event] = deque(maxlen=keep)
        self._indexed: list[int] = []
        self._positions: list[int] = []
        self._unwritten = _Unwritten(keep)
        self._subscribers: list[Callable[[Event], None]] = []
        self._lock = threading.RLock()
        self.last = 0
        for position, payload in log.entries() if log else ():
            self._remember(event := _decode(payload))
            self._index(event, position)

    @property
    def trouble(self) -> str | None:
        """Why events cannot be written to the log, in words; None when they can."""
        held = len(self._unwritten.held)
        return f"{held} events are not written down: {self._unwritten.why}" if held else None

    def emit(self, kind: str, **fields: Any) -> Event:
        """Record that ``kind`` happened now, with these JSON-able fields, and call the subscribers.

        The call succeeds even when the log cannot be written.
        """
        with self._lock:
            written = self._build(kind, fields)
            emitted = [written.event, *self._write(written)]
            subscribers = tuple(self._subscribers)
        # Without the lock, so that a subscriber may take locks of its own.
        for event in emitted:
            for subscriber in subscribers:
                subscriber(event)
        return written.event

    def since(self, cursor: int = 0, limit: int = 1000) -> list[Event]:
        """Up to ``limit`` events with an id above ``cursor``, oldest first."""
        with self._lock:
            oldest = self._recent[0].id if self._recent else self.last + 1
            if cursor + 1 >= oldest or self._log is None:
                skip = max(0, cursor + 1 - oldest)
                return [self._recent[i] for i in range(skip, min(skip + limit, len(self._recent)))]
            at = bisect_right(self._indexed, cursor + 1) - 1
            start = self._positions[max(at, 0)] if self._positions else 0
        found: list[Event] = []
        for _, payload in self._log.entries(start):
            event = _decode(payload)
            if event.id > cursor:
                found.append(event)
                if len(found) == limit:
                    break
        if found:
            return found
        # The newest events may be missing in the log, when it could not take them.
        with self._lock:
            return [event for event in self._recent if event.id > cursor][:limit]

    def prune(
        self, older_than: float | None, keep_bytes: int | None, *, dry_run: bool = False
    ) -> tuple[int, int, int]:
        """Remove events older than ``older_than`` clock seconds, and the oldest beyond ``keep_bytes``.

        Returns the number of removed events, their bytes, and the number of kept ones. The newest
        event is always kept, so that ids continue. Raises OSError, and then nothing was removed.
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
        """Call ``subscriber`` with every event, on the emitter's thread, while the context lasts."""
        with self._lock:
            self._subscribers.append(subscriber)
        try:
            yield
        finally:
            with self._lock:
                self._subscribers.remove(subscriber)

    async def follow(self, cursor: int) -> AsyncGenerator[Event, None]:
        """Yield every event after ``cursor``, past and future, without a gap."""
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

    def _build(self, kind: str, fields: dict[str, Any]) -> _Written:
        event = Event(self.last + 1, self._clock.time(), kind, fields)
        try:
            written = _Written(event, _encode(event))
        except UnicodeEncodeError:
            # A client chooses names, and not every protocol has them be UTF-8.
            event = msgspec.structs.replace(event, fields=_readable(fields))
            written = _Written(event, _encode(event))
        self._remember(event)
        return written

    def _write(self, made: _Written) -> list[Event]:
        """Append the event to the log, after the held ones. Returns the events that tell of trouble."""
        if self._log is None:
            return []
        unwritten = self._unwritten
        late = len(unwritten.held)
        unwritten.hold(made)
        try:
            while unwritten.held:
                event, payload = unwritten.held[0]
                self._index(event, self._log.append(payload))
                unwritten.held.popleft()
        except OSError as error:
            unwritten.why = str(error)
            if late:
                return []
            trouble = self._build("events.unwritten", {"why": unwritten.why})
            unwritten.hold(trouble)
            return [trouble.event]
        if not late:
            return []
        lost, unwritten.lost = unwritten.lost, 0
        end = self._build("events.written", {"late": late, "lost": lost})
        return [end.event, *self._write(end)]

    def _index(self, event: Event, position: int) -> None:
        if not self._indexed or event.id - self._indexed[-1] >= _INDEX_EVERY:
            self._indexed.append(event.id)
            self._positions.append(position)

    def _remember(self, event: Event) -> None:
        self._recent.append(event)
        self.last = event.id


def _readable(value: Any) -> Any:
    """A value of JSON whose texts have a question mark for each half of a surrogate pair."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {_readable(name): _readable(each) for name, each in value.items()}
        case list() | tuple():
            return [_readable(each) for each in value]
    return value
