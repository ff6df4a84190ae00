"""Scheduled actions, in the order of their times."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from itertools import count

from emulator.clock import Clock

Action = Callable[[], None]


class Schedule:
    """A heap of actions by time, measured as ``Clock.elapsed``.

    ``due`` is the time of the first action. ``sooner`` is called when that time becomes earlier.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: list[tuple[float, int, Action]] = []
        self._numbers = count()
        self.due = math.inf
        self.sooner: Action = lambda: None

    def put(self, seconds: float, action: Action) -> None:
        """Schedule ``action`` in ``seconds``."""
        when = self._clock.elapsed() + seconds
        heapq.heappush(self._waiting, (when, next(self._numbers), action))
        if when < self.due:
            self.due = when
            self.sooner()

    def run(self) -> None:
        """Run all actions that are due, in order; those they schedule for now wait for the next call."""
        now = self._clock.elapsed()
        ready: list[Action] = []
        while self._waiting and self._waiting[0][0] <= now:
            ready.append(heapq.heappop(self._waiting)[2])
        for action in ready:
            action()
        self.due = self._waiting[0][0] if self._waiting else math.inf

    def wait(self) -> float | None:
        """Seconds until the next action; None when there is none."""
        return None if self.due == math.inf else max(0.0, self.due - self._clock.elapsed())
