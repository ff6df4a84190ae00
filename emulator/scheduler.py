"""Calls that are made when they are due by the clock, whether it runs, stands still or jumps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from emulator.clock import Clock
from emulator.priority_queue import PriorityQueue

_RETRY_SECONDS: Final = 1.0
_LAST_CALL_SECONDS: Final = 30.0
"""How many real seconds ``close`` waits for a call in progress."""


@dataclass(slots=True, eq=False)
class Task:
    """A call of a scheduler, made again after the seconds that it returns; after None, when it is woken.

    ``due`` is when it is made next, as ``Clock.elapsed``; None when it is not planned.
    """

    call: Callable[[], float | None]
    pause_after_failure: float | None
    due: float | None = None
    cancelled: bool = False


class Scheduler:
    """Makes calls one at a time, in the order of their times, on one thread that the first of them starts.

    Times are measured as ``Clock.elapsed``. Calls of one time are made in the order in which they were
    planned. A jump of the clock makes all that it passed, each once. What a call raises goes to ``failed``,
    and the other calls go on.
    """

    def __init__(self, clock: Clock, name: str, failed: Callable[[Exception], None]) -> None:
        self._clock = clock
        self._name = name
        self._failed = failed
        self._planned: PriorityQueue[Task] = PriorityQueue()
        self._lock = threading.Lock()
        # Held while a call is made: ``settle`` and ``run_now`` return after a call in progress.
        self._calling = threading.RLock()
        self._changed = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def later(self, seconds: float, call: Callable[[], object]) -> Task:
        """Make ``call`` once, after ``seconds``."""

        def once() -> None:
            call()

        return self._begin(Task(once, None), seconds)

    def every(self, seconds: float, call: Callable[[], object]) -> Task:
        """Make ``call`` after ``seconds``, and again ``seconds`` after each call began, or failed."""

        def again() -> float:
            began = self._clock.elapsed()
            call()
            return max(seconds - (self._clock.elapsed() - began), 0.0)

        return self._begin(Task(again, seconds), seconds)

    def follow(self, step: Callable[[], float | None]) -> Task:
        """Make ``step`` now, and again after the seconds that it returns, or when the task is woken.

        A step that failed is made again after a second.
        """
        return self._begin(Task(step, _RETRY_SECONDS), 0.0)

    def wake(self, task: Task) -> None:
        """Have a task's call made as soon as possible, on the scheduler's thread."""
        self._begin(task, 0.0)

    def run_now(self, task: Task) -> None:
        """Make a task's call on this thread if it is planned. Returns after a call in progress."""
        with self._calling:
            if self._withdraw(task):
                self._make(task)

    def cancel(self, task: Task) -> None:
        """Make a task's call no more. One that is in progress goes on."""
        task.cancelled = True
        self._withdraw(task)

    def settle(self) -> None:
        """Make every call that is due, on this thread, and return when all are made."""
        while self._make_next():
            pass

    def close(self) -> None:
        """Make no more calls but those of ``run_now``. Returns after a call in progress."""
        with self._lock:
            self._closed = True
            thread = self._thread
        self._wake_thread()
        # A call may close its own scheduler, and cannot wait for itself.
        if thread is not None and thread is not threading.current_thread():
            thread.join(_LAST_CALL_SECONDS)

    def _begin(self, task: Task, seconds: float) -> Task:
        self._plan(task, self._clock.elapsed() + seconds)
        return task

    def _plan(self, task: Task, due: float) -> None:
        """Plan a task for ``due``, unless it is cancelled, or planned for an earlier time by now."""
        with self._lock:
            if task.cancelled or (task.due is not None and task.due <= due):
                return
            if task.due is not None:
                self._planned.remove(task)
            task.due = due
            self._planned.add(due, task)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            is_next = self._planned.first is task
        if is_next:
            self._wake_thread()

    def _withdraw(self, task: Task) -> bool:
        """Take back a task's plan; return False if it has none."""
        with self._lock:
            planned = task.due is not None
            if planned:
                self._planned.remove(task)
                task.due = None
            return planned

    def _wake_thread(self) -> None:
        self._changed.set()
        self._clock.nudge()

    def _run(self) -> None:
        while True:
            # Before a look at the plan: what is planned after the look sets it again, and ends the wait.
            self._changed.clear()
            if self._closed:
                return
            if self._make_next():
                continue
            due = self._planned.lowest
            if due is None:
                self._changed.wait()
            else:
                self._clock.wait(due - self._clock.elapsed(), self._changed.is_set)

    def _make_next(self) -> bool:
        """Make the first call that is due; return False when there is none."""
        with self._calling:
            with self._lock:
                due = self._planned.lowest
                if self._closed or due is None or due > self._clock.elapsed():
                    return False
                task = self._planned.pop()
                task.due = None
            # Without the lock: a call may plan others, or take this one back.
            self._make(task)
            return True

    def _make(self, task: Task) -> None:
        try:
            pause = task.call()
        except Exception as error:  # noqa: BLE001 -- one call's error is no reason to forget the others
            with suppress(OSError):  # A disk that is full refuses what tells of it, too.
                self._failed(error)
            pause = task.pause_after_failure
        if pause is not None:
            self._begin(task, pause)
