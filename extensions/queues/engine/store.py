"""Shared state of the operations: lock, clock, queues, journal, the views' sources, and events."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from emulator.clock import Clock
from emulator.events import Events
from emulator.journal import Log
from emulator.rng import new_uuid
from extensions.queues.engine.address import Address
from extensions.queues.engine.journal import list_entries, replay, store
from extensions.queues.engine.message_queue import LiveQueue
from extensions.queues.engine.queue_changes import Change, ChangeSet, Posted, QueueGone, QueueSet, SecretSet
from extensions.queues.engine.queue_errors import QueueNotThereError, SourceUnavailableError
from extensions.queues.engine.queue_state import QueueState
from extensions.queues.engine.queued_message import AT_ONCE, QueuedMessage
from extensions.queues.engine.view_source import ViewedMessage, ViewSource, message_id

# The lock is let go in between, for a channel may have very many.
_ARRIVALS_AT_ONCE: Final = 500


class QueueStore:
    """The queues behind one lock. Callers hold ``lock`` to read or change them.

    ``path`` None keeps everything in memory. Raises ``DamagedLogError``, and OSError when the journal cannot
    be opened.
    """

    def __init__(self, path: Path | None, clock: Clock, events: Events, *, fsync: bool) -> None:
        self.lock = threading.RLock()
        self.state = QueueState()
        self.sources: dict[Address, ViewSource] = {}
        self._refreshing: dict[Address, threading.Lock] = {}
        self._clock = clock
        self._events = events
        self._log: Log | None = None
        if path is not None:
            self._log = Log(path, fsync=fsync)
            last = 0.0
            for _, payload in self._log.entries():
                last = replay(payload, self.state)
            # At the last entry's time, up to which the state has been brought.
            self._log.compact(partial(list_entries, self.state, last))
            if self._log.torn_bytes:
                events.emit("journal.cut", file=str(path), bytes=self._log.torn_bytes)

    def now(self) -> float:
        """Seconds since the epoch, on the clock by which claims and messages expire."""
        return self._clock.time()

    @contextmanager
    def refreshed(self, at: Address) -> Iterator[float]:
        """Refresh a view, then hold the lock while the context lasts. Yields the time.

        Raises ``SourceUnavailableError``.
        """
        # Without the lock, since a channel may be slow and must not stop other queues.
        self.refresh(at)
        with self.lock:
            yield self.now()

    def find_queue(self, at: Address, now: float) -> LiveQueue | None:
        """The queue after expiry at ``now``; None when there is none."""
        queue = self.state.queues.get(at)
        if queue is not None:
            self.pass_time(queue, now)
        return queue

    def require_queue(self, at: Address, now: float) -> LiveQueue:
        """The queue after expiry at ``now``. Raises ``QueueNotThereError``."""
        queue = self.find_queue(at, now)
        if queue is None:
            raise QueueNotThereError(at)
        return queue

    def commit(self, now: float, *changes: Change) -> None:
        """Write the changes to the journal and apply them. Raises OSError, and then none takes effect."""
        if self._log is not None:
            store(self._log, ChangeSet(now, list(changes)))
        for change in changes:
            self.state.apply(change, now)
        if self._log is not None:
            self._log.compact(partial(list_entries, self.state, now))

    def signing_secret(self) -> str:
        """The key that signs pre-signed URLs. The first call draws and stores it."""
        with self.lock:
            if not self.state.secret:
                self.commit(self.now(), SecretSet(new_uuid()))
            return self.state.secret

    def emit(self, what: str, at: Address, **fields: Any) -> None:
        """Emit the event ``queue.<what>``."""
        self._events.emit(f"queue.{what}", project=at.project, queue=at.name, **fields)

    def report_gone(self, at: Address, messages: Iterable[QueuedMessage]) -> None:
        """Tell the channel of a view that these messages have left the view."""
        if (source := self.sources.get(at)) is not None:
            refs = [message.ref for message in messages if message.ref is not None]
            if refs:
                source.mark_gone(refs)

    def attach(self, at: Address, source: ViewSource) -> None:
        """Make the queue a view on a channel. A missing queue is created."""
        with self.lock:
            # First: whoever finds the source takes this lock.
            self._refreshing[at] = threading.Lock()
            self.sources[at] = source
            if at not in self.state.queues:
                self.commit(self.now(), QueueSet(at, {}))

    def detach(self, at: Address) -> None:
        """Make the queue an ordinary one again, with its present messages."""
        with self.lock:
            self.sources.pop(at, None)

    def refresh(self, at: Address) -> None:
        """Take the channel's messages into a view. It may take long, so call it without the lock.

        Does nothing for an ordinary queue. Raises ``SourceUnavailableError``.
        """
        source = self.sources.get(at)
        if source is not None:
            with self._refreshing[at]:
                self._take_arrivals(at, source)

    def refresh_views(self) -> list[SourceUnavailableError]:
        """Take the channels' messages into all views, and return the errors of those that failed.

        A view that another thread is refreshing is left to it.
        """
        trouble: list[SourceUnavailableError] = []
        for at, source in list(self.sources.items()):
            if not self._refreshing[at].acquire(blocking=False):
                continue
            try:
                self._take_arrivals(at, source)
            except SourceUnavailableError as error:
                trouble.append(error)
            finally:
                self._refreshing[at].release()
        return trouble

    def _take_arrivals(self, at: Address, source: ViewSource) -> None:
        while arrivals := source.fetch_arrivals(_ARRIVALS_AT_ONCE):
            with self.lock:
                self._post_arrivals(at, arrivals)
                # Behind the journal: after a crash between the two they come again, and are known.
                source.mark_taken(arrivals)

    def _post_arrivals(self, at: Address, arrivals: Sequence[ViewedMessage]) -> None:
        queue = self.state.queues.get(at)
        number = queue.number if queue else 1
        messages: dict[str, QueuedMessage] = {}
        for arrival in arrivals:
            id_ = message_id(at, arrival.ref)
            if id_ not in messages and not (queue and queue.get(id_)):
                ends = arrival.arrived + arrival.ttl
                messages[id_] = QueuedMessage(
                    number + len(messages),
                    id_,
                    arrival.body,
                    arrival.ttl,
                    arrival.arrived,
                    ends,
                    AT_ONCE,
                    client="",
                    ref=arrival.ref,
                )
        missing = [] if queue else [QueueSet(at, {})]
        self.commit(self.now(), *missing, Posted(at, list(messages.values())))
        if messages:
            self.emit("messages_arrived", at, messages=list(messages))

    def pass_time(self, queue: LiveQueue, now: float) -> None:
        """Expire what is due in the queue, and emit the events of it."""
        if passed := queue.pass_time(now):
            for claim, messages in passed.claims:
                ids = [message.id for message in messages]
                self.emit("claim_expired", queue.at, claim=claim.id, client=claim.client, messages=ids)
            if passed.messages:
                self.emit("message_expired", queue.at, messages=[message.id for message in passed.messages])
                self.report_gone(queue.at, passed.messages)

    def end_expired(self) -> float | None:
        """Expire what is over by the clock, emit its events, and return when something may expire next.

        Each operation does this for its own queue. Call it after the clock was advanced by hand.
        """
        with self.lock:
            now = self.now()
            for queue in self.state.queues.values():
                self.pass_time(queue, now)
            due = (queue.next_due() for queue in self.state.queues.values())
            return min((when for when in due if when is not None), default=None)

    def clear(self) -> None:
        """Delete every queue. Views stay, and are empty."""
        with self.lock:
            gone = [QueueGone(at) for at in self.state.queues]
            self.commit(self.now(), *gone, *(QueueSet(at, {}) for at in self.sources))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no other thread use the queues while the context lasts."""
        with ExitStack() as stack:
            # In the order in which a refresh takes them, or each could wait for the other.
            for refreshing in tuple(self._refreshing.values()):
                stack.enter_context(refreshing)
            stack.enter_context(self.lock)
            yield

    def save(self) -> list[bytes]:
        """Return a copy of every queue, for ``load``."""
        with self.lock:
            return list(list_entries(self.state, self.now()))

    def load(self, saved: Sequence[bytes | memoryview]) -> None:
        """Replace every queue by those that were saved. Call it while the queues are ``held``.

        Views stay, and read their channels from their checkpoints. Raises OSError.
        """
        state = QueueState()
        for payload in saved:
            replay(payload, state)
        if self._log is not None:
            self._log.replace(map(bytes, saved), synced=False)
        # Only now: what could not be stored must not have changed anything.
        self.state = state
        for at, source in self.sources.items():
            source.start_over()
            if at not in state.queues:
                self.commit(self.now(), QueueSet(at, {}))

    def close(self) -> None:
        with self.lock:
            if self._log is not None:
                self._log.close()
