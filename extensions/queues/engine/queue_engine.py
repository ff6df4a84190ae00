"""The queue engine: everything that the messaging API does, without the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from emulator.clock import Clock
from emulator.destinations import Destinations
from emulator.events import Events
from emulator.scheduler import Scheduler
from extensions.queues.engine import signatures
from extensions.queues.engine.address import Address
from extensions.queues.engine.operations.claims import ClaimOperations
from extensions.queues.engine.operations.messages import MessageOperations
from extensions.queues.engine.operations.queues import QueueOperations
from extensions.queues.engine.operations.subscriptions import SubscriptionOperations
from extensions.queues.engine.signatures import Signed
from extensions.queues.engine.store import QueueStore

_LONGEST_WAIT: Final = 60.0
"""Seconds of the clock. Every claim and message lasts at least this long; a longer pause could miss one."""


class QueueEngine(QueueStore):
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
        super().__init__(path, clock, events, fsync=fsync)
        self._scheduler = Scheduler(clock, "ends of claims", self._emit_failure)
        self.queues = QueueOperations(self)
        self.messages = MessageOperations(self)
        self.claims = ClaimOperations(self)
        self.destinations = destinations or Destinations()
        self.subscriptions = SubscriptionOperations(self, self.destinations)

    def sign(self, at: Address, paths: list[str], methods: Any, expires: Any) -> Signed:
        """Sign paths with this sandbox's key. Raises as ``signatures.sign``."""
        return signatures.sign(self.signing_secret(), paths, methods, at.project, expires, now=self.now())

    def verify(self, given: Signed) -> bool:
        """Whether the signature is ours, is right for its fields, and has not expired."""
        return signatures.verify(self.signing_secret(), given, now=self.now())

    def has_view(self, name: str) -> bool:
        """Whether a queue of this name is a view, whose operations may wait for its channel."""
        return any(at.name == name for at in self.sources)

    def watch(self) -> None:
        """Expire claims and messages at their time from now on, also in unused queues."""
        self._scheduler.follow(self._expire)

    def close(self) -> None:
        """End the watch and close the journal."""
        self._scheduler.close()
        super().close()

    def _expire(self) -> float:
        try:
            due = self.end_expired()
        except OSError:
            # The event log could not be written. The claims are over anyway, for every operation.
            due = None
        return _LONGEST_WAIT if due is None else min(max(due - self.now(), 0.0), _LONGEST_WAIT)

    def _emit_failure(self, error: Exception) -> None:
        self._events.emit("queues.failed", why=str(error) or repr(error))
