"""Asynchronous processing of messages by one process; other processes may share its store.

    receive -> Intake -> Store (NEW) -> queue -> worker -> Attempts -> Route(Exchange)
                           ^              ^                               |
                           |              |                     Calls -> outside systems
                           |      queue_due, answer                       |
                           +-- Progress: state, parent, confirmation <----+
                                                   |
                                             Confirmations -> source system

Every change of state is a transaction of the store; the queue is only in memory.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from emulator.clock import Clock
from emulator.events import Events
from emulator.priority_queue import PriorityQueue
from emulator.rng import new_uuid
from emulator.scheduler import Scheduler, Task
from extensions.processing.async_message_store import AsyncStore
from extensions.processing.attempts import Attempts
from extensions.processing.calls import Calls
from extensions.processing.confirmation import ConfirmationCallback, LogConfirmation
from extensions.processing.confirmation_policies import ConfirmationPolicy
from extensions.processing.confirming import Confirmations
from extensions.processing.intake import Intake, Receipt, TraceValidator
from extensions.processing.maintenance import Maintenance
from extensions.processing.ordering import Ordering
from extensions.processing.processing_errors import StoppingError
from extensions.processing.processing_parameters import Parameters
from extensions.processing.progress import Progress
from extensions.processing.python_routes import Routes
from extensions.processing.route_exchange import Caller, ProcessingContext
from extensions.processing.stored_messages import Message, NewMessage
from extensions.processing.throttling import Throttling
from extensions.processing.transitions import Cause

_NEW, _TAKEN_UP_AGAIN = 10, 0
_RENEWALS_PER_LEASE = 3


class Processing:
    """Receives messages and processes them by their routes.

    ``receive``, ``process_next``, ``queue_due`` and ``maintain_leases`` work on the caller's thread. After
    ``start``, background threads call the last three until ``close``.
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
        policies: Mapping[str, ConfirmationPolicy] | None = None,
        validators: Sequence[TraceValidator] = (),
        fsync: bool = False,
    ) -> None:
        self.parameters = parameters or Parameters()
        self.clock = clock
        self.owner = f"{os.getpid()}-{new_uuid()[:8]}"
        self.store = AsyncStore(path, clock, events, self.owner, fsync=fsync)
        self.calls = Calls(self.store, self.parameters)
        self.confirmations = Confirmations(
            self.store, self.parameters, confirm or LogConfirmation(), policies or {}
        )
        self.progress = Progress(self.store, self.confirmations)
        self._events = events
        self._routes = routes
        ordering = Ordering(self.store, self.parameters)
        throttling = Throttling(self.parameters, clock)
        self._intake = Intake(self.store, self.parameters, ordering, throttling, validators, routes=routes)
        self._maintenance = Maintenance(self.store, self.parameters, self.calls, ordering, self.progress)
        context = ProcessingContext(self.store, self.calls, ordering, self.progress, self.parameters, caller)
        self._attempts = Attempts(context, routes, lambda: self._stopping)
        self._queue: PriorityQueue[tuple[int, int]] = PriorityQueue()
        self._queue_changed = threading.Condition()
        self._held: dict[int, int] = {}
        self._stopping = False
        self._threads: list[threading.Thread] = []
        self._maintained: list[tuple[Scheduler, Task]] = []

    def receive(self, new: NewMessage) -> Receipt:
        """Persist a message, queue it and return the receipt.

        Raises StoppingError and ThrottledError; then nothing is persisted.
        """
        if self._stopping:
            raise StoppingError("the process stops and takes no more messages; send it to another or later")
        receipt, queued = self._intake.receive(new)
        if queued is not None:
            self._enqueue(queued, _NEW)
        return receipt

    def answer(self, number: int, answer: bytes) -> None:
        """Give a message the answer that it waits for, and queue it.

        Raises LookupError for an unknown message, IllegalTransitionError for one that waits for no answer.
        """
        lease = self.clock.time() + self.parameters.lease
        queued = self.store.change(number, Cause.ANSWERED, answer=answer, owner=self.owner, lease=lease)
        assert queued is not None
        self._enqueue(queued, _TAKEN_UP_AGAIN)

    def resume(self, number: int, answer: bytes) -> None:
        """Give a message its answer and process it on this thread. Raises what ``answer`` raises."""
        now = self.clock.time()
        lease = now + self.parameters.lease
        columns: dict[str, Any] = {"answer": answer, "owner": self.owner, "lease": lease, "started": now}
        message = self.store.change(number, Cause.RESUMED, **columns)
        assert message is not None
        self._attempt(message)

    def process_next(self) -> bool:
        """Process the next message of the queue; return False when the queue is empty."""
        with self._queue_changed:
            if not self._queue:
                return False
            number, step = self._queue.pop()
        self._process(number, step)
        return True

    def queued(self) -> list[Message]:
        """The messages of the queue, by number."""
        with self._queue_changed:
            numbers = sorted({number for number, _ in self._queue})
        return [self.store.message(number) for number in numbers]

    def drain(self) -> int:
        """Process the queue until it is empty, and return the number of messages."""
        return sum(1 for _ in iter(self.process_next, False))

    def queue_due(self) -> int:
        """Queue the stored messages that are due, return their number, and send the due confirmations."""
        taken = self._maintenance.claim_due(self._routes.endpoints)
        for message in taken:
            self._enqueue(message, _TAKEN_UP_AGAIN)
        self.confirmations.send_due()
        return len(taken)

    def send_confirmations(self) -> None:
        """Send the noted confirmations; running workers do it, so that the caller waits for no source."""
        if not self._threads:
            self.confirmations.send_noted()
            return
        with self._queue_changed:
            self._queue_changed.notify()

    def maintain_leases(self) -> None:
        """Renew the leases of this process, and free the messages of processes that died."""
        with self._queue_changed:
            held = dict(self._held)
        self.store.renew(held, self.parameters.lease)
        if self._maintenance.free_stuck():
            self.send_confirmations()

    def start(self) -> None:
        """Start ``consumers`` workers and the maintenance; they run until ``close``."""
        for period, work in (
            (self.parameters.poll_period, self._poll),
            (self.confirmations.period, self.confirmations.send_due),
            (self.parameters.lease / _RENEWALS_PER_LEASE, self.maintain_leases),
        ):
            # Each has a thread of its own: leases are renewed while a slow source is notified of an end.
            scheduler = Scheduler(self.clock, "processing", self._emit_failure)
            self._maintained.append((scheduler, scheduler.every(period, work)))
        self._threads = [
            threading.Thread(target=self._work, name="processing", daemon=True)
            for _ in range(self.parameters.consumers)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Accept no more messages, and let each worker end after its current message."""
        self._stopping = True
        with self._queue_changed:
            self._queue_changed.notify_all()
        for scheduler, task in self._maintained:
            scheduler.cancel(task)

    def abandon(self) -> None:
        """Stop, and emit no more events, whatever still happens to messages."""
        self._events = self.store.events = Events(self.clock)
        self.stop()

    def close(self) -> None:
        """Stop, wait for the workers, postpone what is still queued, and close the store."""
        self.stop()
        for thread in self._threads:
            thread.join()
        for scheduler, _ in self._maintained:
            scheduler.close()
        with self._queue_changed:
            held, self._held = self._held, {}
        now = self.clock.time()
        for number, step in held.items():
            self.store.change(number, Cause.POSTPONED, held=step, due=now, why="its process stopped")
        self.store.close()

    def _work(self) -> None:
        while not self._stopping:
            with self._queue_changed:
                self._queue_changed.wait_for(
                    lambda: self._queue or self.confirmations.has_noted or self._stopping
                )
            if not self._stopping:
                try:
                    (self.confirmations.send_noted if self.confirmations.has_noted else self.process_next)()
                except Exception as error:  # noqa: BLE001 -- a worker goes on with the next message
                    self._emit_failure(error)

    def _poll(self) -> None:
        while self.queue_due() and not self._stopping:
            pass

    def _emit_failure(self, error: Exception) -> None:
        """Tell of an error. A message whose outcome could not be stored is freed when its lease is over."""
        self._events.emit("processing.failed", why=str(error) or repr(error))

    def _enqueue(self, message: Message, priority: int) -> None:
        with self._queue_changed:
            self._held[message.number] = message.step
            self._queue.add(priority, (message.number, message.step))
            self._queue_changed.notify()

    def _process(self, number: int, step: int) -> None:
        now = self.clock.time()
        lease = now + self.parameters.lease
        columns: dict[str, Any] = {"owner": self.owner, "lease": lease, "started": now}
        try:
            message = self.store.change(number, Cause.STARTED, held=step, **columns)
            if message is not None:
                self._attempt(message)
        finally:
            self._release({number: step})

    def _attempt(self, message: Message) -> None:
        """Attempt a message and then the children that it was split into.

        After an error the children are held no longer; maintenance frees them when their lease is over.
        """
        held = {message.number: message.step}
        self._hold(held)
        try:
            children = {child.number: child.step for child in self._attempts.run(message)}
        finally:
            self._release(held)
        self._hold(children)
        try:
            self.confirmations.send_noted()
            for number, step in children.items():
                lease = self.clock.time() + self.parameters.lease
                queued = self.store.change(number, Cause.QUEUED, held=step, owner=self.owner, lease=lease)
                if queued is not None:
                    self._process(queued.number, queued.step)
        finally:
            self._release(children)

    def _hold(self, steps: Mapping[int, int]) -> None:
        """Renew the leases of these messages, each at its step, from now on."""
        with self._queue_changed:
            self._held |= steps

    def _release(self, steps: Mapping[int, int]) -> None:
        """Stop renewing these leases; a message that is held at a later step by now stays held."""
        with self._queue_changed:
            for number, step in steps.items():
                if self._held.get(number) == step:
                    del self._held[number]
