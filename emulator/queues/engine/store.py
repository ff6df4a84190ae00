"""What the operations share: the lock, the clock, the state, its journal, the views' sources, the events."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from emulator.clock import Clock
from emulator.events import Events
from emulator.queues.engine.address import Address
from emulator.queues.engine.changes import Change, Entry, Posted, QueueGone, QueueSet, SecretSet
from emulator.queues.engine.errors import QueueNotThereError, SourceUnavailableError
from emulator.queues.engine.journal import FileJournal, Journal, NoJournal
from emulator.queues.engine.message import Message
from emulator.queues.engine.queue import Passed, Queue
from emulator.queues.engine.source import Arrival, Source, message_id
from emulator.queues.engine.state import State
from emulator.rng import new_uuid

_DRAWN_AT_ONCE: Final = 500


class Store:
    """The queues behind one lock; whoever holds it sees them, and changes them, as of ``now()``.

    ``path`` None keeps everything in memory. Raises ``DamagedLogError``, and OSError without its journal.
    """

    def __init__(self, path: Path | None, clock: Clock, events: Events, *, fsync: bool) -> None:
        self.lock = threading.RLock()
        self.state = State()
        self.sources: dict[Address, Source] = {}
        self._turns: dict[Address, threading.Lock] = {}
        self._clock = clock
        self._events = events
        self._journal: Journal = NoJournal()
        if path is not None:
            journal = FileJournal(path, fsync=fsync)
            journal.replay(self.state)
            self._journal = journal
            if journal.torn_bytes:
                events.emit("journal.cut", file=str(path), bytes=journal.torn_bytes)

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._clock.time()

    @contextmanager
    def opened(self, at: Address) -> Iterator[float]:
        """The lock, once a view has what its channel has; what time it is.

        Raises ``SourceUnavailableError``.
        """
        self.refresh(at)
        with self.lock:
            yield self.now()

    def queue(self, at: Address, now: float) -> Queue | None:
        """The queue as of now; None when there is none."""
        queue = self.state.queues.get(at)
        if queue is not None:
            self.pass_time(queue, now)
        return queue

    def existing(self, at: Address, now: float) -> Queue:
        """The queue as of now. Raises ``QueueNotThereError``."""
        queue = self.queue(at, now)
        if queue is None:
            raise QueueNotThereError(at)
        return queue

    def commit(self, now: float, *changes: Change) -> None:
        """Make the changes, all of them or, with OSError, none."""
        self._journal.append(Entry(now, list(changes)))
        for change in changes:
            self.state.apply(change, now)
        self._journal.tidy(self.state, now)

    def secret(self) -> str:
        """The key that signs pre-signed URLs; drawn when first asked for."""
        with self.lock:
            if not self.state.secret:
                self.commit(self.now(), SecretSet(new_uuid()))
            return self.state.secret

    def tell(self, what: str, at: Address, **fields: Any) -> None:
        """Emit the event ``queue.<what>``."""
        self._events.emit(f"queue.{what}", project=at.project, queue=at.name, **fields)

    def left(self, at: Address, messages: Iterable[Message]) -> None:
        """Tell the channel that these have left its view."""
        if (source := self.sources.get(at)) is not None:
            refs = [message.ref for message in messages if message.ref is not None]
            if refs:
                source.gone(refs)

    def attach(self, at: Address, source: Source) -> None:
        """Make the queue, which is made if it is not there, a view on a channel."""
        with self.lock:
            self._turns[at] = threading.Lock()
            self.sources[at] = source
            if at not in self.state.queues:
                self.commit(self.now(), QueueSet(at, {}))

    def detach(self, at: Address) -> None:
        """Let the queue stand alone, with what it has."""
        with self.lock:
            self.sources.pop(at, None)

    def refresh(self, at: Address) -> None:
        """Take into a view what its channel has, which may take its time: nobody else waits for it meanwhile.

        Does nothing for a queue that stands alone. Raises ``SourceUnavailableError``.
        """
        source = self.sources.get(at)
        if source is not None:
            with self._turns[at]:
                self._draw(at, source)

    def refresh_all(self) -> list[SourceUnavailableError]:
        """Refresh every view that nobody else waits for already; what kept it from that."""
        trouble: list[SourceUnavailableError] = []
        for at, source in list(self.sources.items()):
            if not self._turns[at].acquire(blocking=False):
                continue
            try:
                self._draw(at, source)
            except SourceUnavailableError as error:
                trouble.append(error)
            finally:
                self._turns[at].release()
        return trouble

    def _draw(self, at: Address, source: Source) -> None:
        while arrivals := source.arrivals(_DRAWN_AT_ONCE):
            with self.lock:
                self._take(at, arrivals)
                source.taken(arrivals)

    def _take(self, at: Address, arrivals: Sequence[Arrival]) -> None:
        queue = self.state.queues.get(at)
        number = queue.number if queue else 1
        messages: dict[str, Message] = {}
        for arrival in arrivals:
            id_ = message_id(at, arrival.ref)
            if id_ not in messages and not (queue and queue.get(id_)):
                messages[id_] = _arrived(number + len(messages), id_, arrival)
        missing = [] if queue else [QueueSet(at, {})]
        self.commit(self.now(), *missing, Posted(at, list(messages.values())))
        if messages:
            self.tell("messages_arrived", at, messages=list(messages))

    def pass_time(self, queue: Queue, now: float) -> None:
        """Let the clock end what it ends in the queue, and tell of it."""
        if passed := queue.pass_time(now):
            self._tell_passed(queue.at, passed)

    def settle(self) -> float | None:
        """Let the clock end what is over in every queue; when it next may end something."""
        with self.lock:
            now = self.now()
            for queue in self.state.queues.values():
                self.pass_time(queue, now)
            due = (queue.next_due() for queue in self.state.queues.values())
            return min((when for when in due if when is not None), default=None)

    def clear(self) -> None:
        """Forget every queue; views stay, empty."""
        with self.lock:
            gone = [QueueGone(at) for at in self.state.queues]
            self.commit(self.now(), *gone, *(QueueSet(at, {}) for at in self.sources))

    def close(self) -> None:
        with self.lock:
            self._journal.close()

    def _tell_passed(self, at: Address, passed: Passed) -> None:
        for claim, messages in passed.claims:
            ids = [message.id for message in messages]
            self.tell("claim_expired", at, claim=claim.id, client=claim.client, messages=ids)
        if passed.messages:
            self.tell("message_expired", at, messages=[message.id for message in passed.messages])
            self.left(at, passed.messages)


def _arrived(number: int, id_: str, arrival: Arrival) -> Message:
    ends = arrival.arrived + arrival.ttl
    return Message(
        number,
        id_,
        arrival.body,
        arrival.ttl,
        arrival.arrived,
        ends,
        arrival.arrived,
        client="",
        ref=arrival.ref,
    )
