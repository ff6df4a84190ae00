"""The engine of queues: everything that the messaging API does, with no network in it."""

from __future__ import annotations

import threading
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
from emulator.queues.engine.source import Source
from emulator.queues.engine.store import Store

_LONGEST_WAIT: Final = 60.0
"""No claim or message ends sooner than this after it began, so nobody is late who looks as often."""


class QueueEngine:
    """Queues of projects. Every operation is atomic, and durable when it returns, unless ``path`` is None.

    ``fsync`` makes that hold for loss of power, too. Safe to use from many threads. Raises
    ``DamagedLogError``
    when the journal at ``path`` cannot be read, and OSError from any operation that cannot be written down,
    which then has not happened. ``destinations`` are what subscribers may be.
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
        self._clock = clock
        self._closed = False
        self._watch: threading.Thread | None = None
        self.queues = Queues(self._store)
        self.messages = Messages(self._store)
        self.claims = Claims(self._store)
        self.destinations = destinations or Destinations()
        self.subscriptions = Subscriptions(self._store, self.destinations)

    def now(self) -> float:
        """Seconds since the epoch, on the clock that ends claims and messages."""
        return self._store.now()

    def sign(self, at: Address, paths: list[str], methods: Any, expires: Any) -> Signed:
        """Sign for the paths with this sandbox's own key; see ``signatures.sign``, whose error it raises."""
        return signatures.sign(self._store.secret(), paths, methods, at.project, expires, now=self.now())

    def verify(self, given: Signed) -> bool:
        """Whether the signature is ours, of what it says, and its time is not over."""
        return signatures.verify(self._store.secret(), given, now=self.now())

    def attach(self, at: Address, source: Source) -> None:
        """Make the queue, which is made if it is not there, a view on a channel, from now on."""
        self._store.attach(at, source)

    def detach(self, at: Address) -> None:
        """Let the queue stand alone again, with what it has."""
        self._store.detach(at)

    def refresh_views(self) -> list[SourceUnavailableError]:
        """Take into every view what its channel has; what kept it from that."""
        return self._store.refresh_all()

    def has_view(self, name: str) -> bool:
        """Whether a queue of this name is a view, so that what is done with it may have to wait."""
        return any(at.name == name for at in self._store.sources)

    def settle(self) -> float | None:
        """End what the clock has ended, and emit the events of it; when there may next be something to end.

        Operations do the same for the queue they are about. For whoever moves the clock by hand.
        """
        return self._store.settle()

    def watch(self) -> None:
        """Have claims and messages end at their time, on a thread, though nobody asks for them."""
        self._watch = threading.Thread(target=self._run, name="ends of claims", daemon=True)
        self._watch.start()

    def clear(self) -> None:
        """Delete every queue; views stay attached, empty."""
        self._store.clear()

    def close(self) -> None:
        """End the watch and give the journal back."""
        self._closed = True
        self._clock.nudge()
        if self._watch is not None:
            self._watch.join(timeout=5)
        self._store.close()

    def _run(self) -> None:
        while not self._closed:
            try:
                due = self.settle()
            except OSError:
                # What could not be told now is over all the same, and operations see it so.
                due = None
            pause = _LONGEST_WAIT if due is None else min(max(due - self.now(), 0.0), _LONGEST_WAIT)
            self._clock.wait(pause, lambda: self._closed)
