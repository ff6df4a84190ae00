"""Scheduled actions of topics, which are made when the engine is asked: it has no thread of its own."""

from __future__ import annotations

import math
from collections.abc import Callable

from emulator.clock import Clock
from emulator.priority_queue import PriorityQueue

Action = Callable[[], None]


class Schedule:
    """Actions by time, measured as ``Clock.elapsed``.

    ``due`` is the time of the first action. ``sooner`` is called when that time becomes earlier.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: PriorityQueue[Action] = PriorityQueue()
        self.due = math.inf
        self.sooner: Action = lambda: None

    def put(self, seconds: float, action: Action) -> None:
        when = self._clock.elapsed() + seconds
        self._waiting.add(when, action)
        if when < self.due:
            self.due = when
            self.sooner()

    def run(self) -> None:
        """Run all actions that are due, in order; those they schedule for now wait for the next call."""
        for action in self._waiting.pop_until(self._clock.elapsed()):
            action()
        self.due = math.inf if self._waiting.lowest is None else self._waiting.lowest

    def wait(self) -> float | None:
        """Seconds until the next action; None when there is none."""
        return None if self.due == math.inf else max(0.0, self.due - self._clock.elapsed())
