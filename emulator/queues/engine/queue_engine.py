"""The queue engine: everything that the messaging API does, without the network."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from emulator.clock import Clock
from emulator.destinations import Destinations
from emulator.events import Events
from emulator.queues.engine import signatures
from emulator.queues.engine.address import Address
from emulator.queues.engine.errors import SourceUnavailableError
from emulator.queues.engine.operations.claims import Claims
from emulator.queues.engine.operations.messages import Messages
from emulator.queues.engine.operations.queues import Queues
from emulator.queues.engine.operations.subscriptions import Subscriptions
from emulator.queues.engine.signatures import Signed
from emulator.queues.engine.store import Store
from emulator.queues.engine.view_source import Source
from emulator.scheduler import Scheduler

_LONGEST_WAIT: Final = 60.0
"""Seconds of the clock. Every claim and message lasts at least this long; a longer pause could miss one."""


class QueueEngine:
    """The queues of all projects. Thread-safe.

    Every operation is atomic, and durable when it returns unless ``path`` is None. With ``fsync`` it
    survives a loss of power too. Raises ``DamagedLogError`` when the journal at ``path`` cannot be read. Any
    operation raises OSError when it cannot be written, and then has no effect. ``destinations`` says which
    subscribers are allowed.
    """

    def __init__(
        self,
        path: Path | None,
        clock: Clock,
        events: Events,
        *,
        fsync: bool = False,
        destinations: Destinations | None = None,
    ) -> None:
        self._store = Store(path, clock, events, fsync=fsync)
        self._events = events
        self._scheduler = Scheduler(clock, "ends of claims", self._emit_failure)
        self.queues = Queues(self._store)
        self.messages = Messages(self._store)
        self.claims = Claims(self._store)
        self.destinations = destinations or Destinations()
        self.subscriptions = Subscriptions(self._store, self.destinations)

    def now(self) -> float:
        """Seconds since the epoch, on the clock by which claims and messages expire."""
        return self._store.now()

    def sign(self, at: Address, paths: list[str], methods: Any, expires: Any) -> Signed:
        """Sign paths with this sandbox's key. Raises as ``signatures.sign``."""
        return signatures.sign(
            self._store.signing_secret(), paths, methods, at.project, expires, now=self.now()
        )

    def verify(self, given: Signed) -> bool:
        """Whether the signature is ours, is right for its fields, and has not expired."""
        return signatures.verify(self._store.signing_secret(), given, now=self.now())

    def attach(self, at: Address, source: Source) -> None:
        """Make the queue a view on a channel. A missing queue is created."""
        self._store.attach(at, source)

    def detach(self, at: Address) -> None:
        """Make the queue an ordinary one again, with its present messages."""
        self._store.detach(at)

    def refresh_views(self) -> list[SourceUnavailableError]:
        """Take the channels' messages into all views, and return the errors of those that failed."""
        return self._store.refresh_all()

    def has_view(self, name: str) -> bool:
        """Whether a queue of this name is a view, whose operations may wait for its channel."""
        return any(at.name == name for at in self._store.sources)

    def end_expired(self) -> float | None:
        """Expire what is over by the clock, emit its events, and return when something may expire next.

        Each operation does this for its own queue. Call it after the clock was advanced by hand.
        """
        return self._store.end_expired()

    def watch(self) -> None:
        """Expire claims and messages at their time from now on, also in unused queues."""
        self._scheduler.follow(self._expire)

    def clear(self) -> None:
        """Delete every queue. Views stay attached, and are empty."""
        self._store.clear()

    def held(self) -> AbstractContextManager[None]:
        """Let no other thread use the queues while the context lasts."""
        return self._store.held()

    def save(self) -> list[bytes]:
        """Return a copy of every queue, for ``load``."""
        return self._store.save()

    def load(self, saved: Sequence[bytes | memoryview]) -> None:
        """Replace every queue by those that were saved, while the queues are ``held``. Raises OSError."""
        self._store.load(saved)

    def close(self) -> None:
        """End the watch and close the journal."""
        self._scheduler.close()
        self._store.close()

    def _expire(self) -> float:
        try:
            due = self.end_expired()
        except OSError:
            # The event log could not be written. The claims are over anyway, for every operation.
            due = None
        return _LONGEST_WAIT if due is None else min(max(due - self.now(), 0.0), _LONGEST_WAIT)

    def _emit_failure(self, error: Exception) -> None:
        self._events.emit("queues.failed", why=str(error) or repr(error))
