"""Calls that the fault engine makes later, by the clock."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable
from typing import NamedTuple

from emulator.clock import Clock
from emulator.faults.holding import Hold


class _Due(NamedTuple):
    elapsed: float
    order: int
    call: Callable[[], None]
    hold: Hold | None
    """With a hold, the call must be made: at the latest when the hold ends, or the timers close."""


class Timers:
    """Calls that are made at their times, on one thread that the first of them starts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        # Held while calls are made, so that ``run_due`` and ``release`` return after a call in progress.
        self._calling = threading.RLock()
        self._due: list[_Due] = []
        self._order = itertools.count()
        self._changed = False
        self._awaited = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Make ``call`` after ``seconds`` of the clock. ``close`` cancels it."""
        self._add(_Due(self._clock.elapsed() + seconds, next(self._order), call, None))

    def call_at_latest(self, seconds: float, call: Callable[[], None], hold: Hold) -> None:
        """Make ``call`` after ``seconds`` of the clock, or when ``hold`` is released, or on ``close``."""
        self._add(_Due(self._clock.elapsed() + seconds, next(self._order), call, hold))

    def release(self, hold: Hold) -> None:
        """Make the pending calls of ``hold`` now."""
        with self._calling:
            with self._lock:
                held = [due for due in self._due if due.hold is hold]
                self._due = [due for due in self._due if due.hold is not hold]
                heapq.heapify(self._due)
            for due in held:
                due.call()

    def run_due(self) -> None:
        """Make every call that is due, on this thread: for tests and scenarios that advance the clock."""
        with self._calling:
            while call := self._pop_due():
                call()

    def close(self) -> None:
        """End the thread, and make the pending calls that have a hold."""
        with self._lock:
            self._closed = True
            thread = self._thread
        self._awaited.set()
        self._clock.nudge()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)
        for due in self._due:
            if due.hold is not None:
                due.call()

    def _add(self, due: _Due) -> None:
        with self._lock:
            heapq.heappush(self._due, due)
            self._changed = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="fault timers", daemon=True)
                self._thread.start()
        self._awaited.set()
        self._clock.nudge()

    def _run(self) -> None:
        while not self._closed:
            with self._calling:
                if call := self._pop_due():
                    call()
            with self._lock:
                self._changed = False
                pause = self._due[0].elapsed - self._clock.elapsed() if self._due else None
                if pause is None:
                    self._awaited.clear()
            if pause is None:
                self._awaited.wait()
            elif pause > 0:
                self._clock.wait(pause, lambda: self._changed or self._closed)

    def _pop_due(self) -> Callable[[], None] | None:
        with self._lock:
            due = bool(self._due) and self._due[0].elapsed <= self._clock.elapsed()
            return heapq.heappop(self._due).call if due else None
