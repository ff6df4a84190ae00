"""Asynchronous processing of messages: what one process does, with other processes on the same store."""

from __future__ import annotations

import heapq
import itertools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from emulator.clock import Clock
from emulator.events import Events
from emulator.rng import new_uuid
from sandbox.processing.attempts import Attempts
from sandbox.processing.calls import Calls
from sandbox.processing.confirmation import ConfirmationCallback, LogConfirmation
from sandbox.processing.confirming import Confirmations
from sandbox.processing.errors import StoppingError
from sandbox.processing.exchange import Caller, ProcessingContext
from sandbox.processing.intake import Intake, Receipt, TraceValidator
from sandbox.processing.maintenance import Maintenance
from sandbox.processing.ordering import Ordering
from sandbox.processing.parameters import Parameters
from sandbox.processing.progress import Progress
from sandbox.processing.records import Message, NewMessage
from sandbox.processing.routes import Routes
from sandbox.processing.store import Store
from sandbox.processing.telling import Telling
from sandbox.processing.throttling import Throttling
from sandbox.processing.transitions import Cause

_FRESH, _AGAIN = 10, 0
_RENEWALS = 3


class Processing:
    """Receives messages and processes them by their routes.

    ``receive``, ``process_next`` and ``look_after`` do one thing each on the caller's thread; ``start`` has
    workers and the upkeep do them until ``close``.
    """

    def __init__(
        self,
        path: Path,
        routes: Routes,
        caller: Caller,
        clock: Clock,
        events: Events,
        *,
        parameters: Parameters | None = None,
        confirm: ConfirmationCallback | None = None,
        tellings: Mapping[str, Telling] | None = None,
        validators: Sequence[TraceValidator] = (),
        fsync: bool = False,
    ) -> None:
        self.parameters = parameters or Parameters()
        self.clock = clock
        self.owner = f"{os.getpid()}-{new_uuid()[:8]}"
        self.store = Store(path, clock, events, self.owner, fsync=fsync)
        self.calls = Calls(self.store, self.parameters)
        self.confirmations = Confirmations(
            self.store, self.parameters, confirm or LogConfirmation(), tellings or {}
        )
        self.progress = Progress(self.store, self.confirmations)
        self._events = events
        self._routes = routes
        ordering = Ordering(self.store, self.parameters)
        throttling = Throttling(self.parameters, clock)
        self._intake = Intake(self.store, self.parameters, ordering, throttling, validators)
        self._upkeep = Maintenance(self.store, self.parameters, self.calls, ordering, self.progress)
        means = ProcessingContext(self.store, self.calls, ordering, self.progress, self.parameters, caller)
        self._attempts = Attempts(means, routes, lambda: self._stopping)
        self._queue: list[tuple[int, int, int, int]] = []
        self._order = itertools.count()
        self._more = threading.Condition()
        self._held: dict[int, int] = {}
        self._stopping = False
        self._threads: list[threading.Thread] = []

    # What comes in

    def receive(self, new: NewMessage) -> Receipt:
        """Persist a message, queue it, and say so.

        Raises StoppingError and ThrottledError; nothing is persisted then.
        """
        if self._stopping:
            raise StoppingError("the process stops and takes no more messages; send it to another or later")
        receipt, queued = self._intake.receive(new)
        if queued is not None:
            self._enqueue(queued, _FRESH)
        return receipt

    def answer(self, number: int, answer: bytes) -> None:
        """Give a message the answer that it waits for, and queue it.

        Raises LookupError, and IllegalTransitionError for one that waits for none.
        """
        lease = self.clock.time() + self.parameters.lease
        queued = self.store.change(number, Cause.ANSWERED, answer=answer, owner=self.owner, lease=lease)
        assert queued is not None
        self._enqueue(queued, _AGAIN)

    def resume(self, number: int, answer: bytes) -> None:
        """Give a message the answer that it waits for, and process it here and now. Raises as ``answer``."""
        now = self.clock.time()
        lease = now + self.parameters.lease
        columns: dict[str, Any] = {"answer": answer, "owner": self.owner, "lease": lease, "started": now}
        message = self.store.change(number, Cause.RESUMED, **columns)
        assert message is not None
        self._attempt(message)

    # What is done with it

    def process_next(self) -> bool:
        """Process one message of the queue; False when there is none."""
        with self._more:
            if not self._queue:
                return False
            _, _, number, step = heapq.heappop(self._queue)
        self._process(number, step)
        return True

    def drain(self) -> int:
        """Process the queue until it is empty; how many messages."""
        return sum(1 for _ in iter(self.process_next, False))

    def take_up(self) -> int:
        """Queue the messages in the store whose time has come, and confirm what is due; how many messages."""
        taken = self._upkeep.take_up(self._routes.endpoints)
        for message in taken:
            self._enqueue(message, _AGAIN)
        self.confirmations.tell_due()
        return len(taken)

    def tell(self) -> None:
        """Confirm what ended since; by the workers where there are any, so that nobody waits for a source."""
        if not self._threads:
            self.confirmations.tell()
            return
        with self._more:
            self._more.notify()

    def look_after(self) -> None:
        """Keep what this process has, and free what a process had that is gone."""
        with self._more:
            held = dict(self._held)
        self.store.renew(held, self.parameters.lease)
        if self._upkeep.free_stuck():
            self.tell()

    # In the background

    def start(self) -> None:
        """Have as many workers as there are consumers, and the upkeep, at work until ``close``."""
        period, lease = self.parameters.poll_period, self.parameters.lease
        work = [self._work] * self.parameters.consumers
        work += [
            lambda: self._repeat(period, self._poll),
            lambda: self._repeat(self.confirmations.period, self.confirmations.tell_due),
            lambda: self._repeat(lease / _RENEWALS, self.look_after),
        ]
        self._threads = [threading.Thread(target=each, name="processing", daemon=True) for each in work]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Take nothing more, and have the workers end after the message that each is at."""
        self._stopping = True
        with self._more:
            self._more.notify_all()
        self.clock.nudge()

    def abandon(self) -> None:
        """``stop``, and have nobody hear of what still becomes of messages."""
        self._events = self.store.events = Events(self.clock)
        self.stop()

    def close(self) -> None:
        """``stop``, wait until that is so, give up what is still queued, and close the store."""
        self.stop()
        for thread in self._threads:
            thread.join()
        with self._more:
            held, self._held = self._held, {}
        now = self.clock.time()
        for number, step in held.items():
            self.store.change(number, Cause.POSTPONED, held=step, due=now, why="its process stopped")
        self.store.close()

    def _work(self) -> None:
        while not self._stopping:
            with self._more:
                self._more.wait_for(lambda: self._queue or self.confirmations.noted or self._stopping)
            if not self._stopping:
                self._guarded(self.confirmations.tell if self.confirmations.noted else self.process_next)

    def _repeat(self, period: float, work: Callable[[], object]) -> None:
        while self.clock.wait(period, lambda: self._stopping):
            self._guarded(work)

    def _poll(self) -> None:
        while self.take_up() and not self._stopping:
            pass

    def _guarded(self, work: Callable[[], object]) -> None:
        """What cannot be written down now is left as it is, for the upkeep to find."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 -- a worker goes on with the next message
            self._events.emit("processing.failed", why=str(error) or repr(error))

    def _enqueue(self, message: Message, priority: int) -> None:
        with self._more:
            self._held[message.number] = message.step
            heapq.heappush(self._queue, (priority, next(self._order), message.number, message.step))
            self._more.notify()

    def _process(self, number: int, step: int) -> None:
        now = self.clock.time()
        lease = now + self.parameters.lease
        columns: dict[str, Any] = {"owner": self.owner, "lease": lease, "started": now}
        try:
            message = self.store.change(number, Cause.STARTED, held=step, **columns)
            if message is not None:
                self._attempt(message)
        finally:
            self._let_go({number: step})

    def _attempt(self, message: Message) -> None:
        """Attempt a message, and then the children that it was split into.

        What an error keeps from its turn is held no longer: the upkeep frees it when its lease is over.
        """
        held = {message.number: message.step}
        self._hold(held)
        try:
            children = {child.number: child.step for child in self._attempts.run(message)}
        finally:
            self._let_go(held)
        self._hold(children)
        try:
            self.confirmations.tell()
            self._process_children(children)
        finally:
            self._let_go(children)

    def _process_children(self, children: Mapping[int, int]) -> None:
        """One after another."""
        for number, step in children.items():
            lease = self.clock.time() + self.parameters.lease
            queued = self.store.change(number, Cause.QUEUED, held=step, owner=self.owner, lease=lease)
            if queued is not None:
                self._process(queued.number, queued.step)

    def _hold(self, steps: Mapping[int, int]) -> None:
        """Have the leases of messages, each at its step, renewed."""
        with self._more:
            self._held |= steps

    def _let_go(self, steps: Mapping[int, int]) -> None:
        """Have them renewed no more; a message that is held at a later step by now stays so."""
        with self._more:
            for number, step in steps.items():
                if self._held.get(number) == step:
                    del self._held[number]
