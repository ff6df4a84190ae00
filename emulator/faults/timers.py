"""Calls that the fault engine makes later, by the clock."""

from __future__ import annotations

import threading
from collections.abc import Callable

from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault import Hold
from emulator.scheduler import Scheduler, Task


class Timers:
    """Calls at their times. A call with a hold is made when the hold ends or the timers close, if not before.

    The event ``fault.failed`` tells of a call that raised.
    Strikes have a thread of their own: an upstream reshards in seconds, and what lasts must end on time.
    """

    def __init__(self, clock: Clock, events: Events) -> None:
        self._events = events
        self._strikes = Scheduler(clock, "fault strikes", self._emit_failure)
        self._ends = Scheduler(clock, "fault ends", self._emit_failure)
        self._held: list[tuple[Hold, Task]] = []
        self._lock = threading.Lock()

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Make ``call`` after ``seconds`` of the clock. ``close`` cancels it."""
        self._strikes.later(seconds, call)

    def call_at_latest(self, seconds: float, call: Callable[[], None], hold: Hold) -> None:
        """Make ``call`` after ``seconds`` of the clock, or when ``hold`` is released, or on ``close``."""
        with self._lock:
            # Those that were made are forgotten here, so that a long run does not grow.
            self._held = [each for each in self._held if each[1].due is not None]
            self._held.append((hold, self._ends.later(seconds, call)))

    def release(self, hold: Hold) -> None:
        """Make the pending calls of ``hold`` now. Returns after a call in progress."""
        with self._lock:
            held = [task for its_hold, task in self._held if its_hold is hold]
        # Without the lock, for this waits for a call in progress.
        for task in held:
            self._ends.run_now(task)

    def run_due(self) -> None:
        """Make every call that is due, on this thread: for tests and scenarios that advance the clock."""
        self._strikes.settle()
        self._ends.settle()

    def close(self) -> None:
        """End the threads, and make the pending calls that have a hold."""
        self._strikes.close()
        self._ends.close()
        for _, task in self._held:
            self._ends.run_now(task)

    def _emit_failure(self, error: Exception) -> None:
        self._events.emit("fault.failed", why=str(error) or repr(error))
