"""What is to be done later, by the clock."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from itertools import count

from emulator.clock import Clock

Action = Callable[[], None]


class Schedule:
    """Actions in the order of their times, measured as ``Clock.elapsed``.

    ``due`` is when the first of them is; ``sooner`` is called when it comes to be earlier than it was.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: list[tuple[float, int, Action]] = []
        self._numbers = count()
        self.due = math.inf
        self.sooner: Action = lambda: None

    def put(self, seconds: float, action: Action) -> None:
        """Have ``action`` done when ``seconds`` have passed."""
        when = self._clock.elapsed() + seconds
        heapq.heappush(self._waiting, (when, next(self._numbers), action))
        if when < self.due:
            self.due = when
            self.sooner()

    def run(self) -> None:
        """Do everything that is due, in order; what it puts here for now is for the next time."""
        now = self._clock.elapsed()
        ready: list[Action] = []
        while self._waiting and self._waiting[0][0] <= now:
            ready.append(heapq.heappop(self._waiting)[2])
        for action in ready:
            action()
        self.due = self._waiting[0][0] if self._waiting else math.inf

    def wait(self) -> float | None:
        """Seconds until the next is due; None when there is none."""
        return None if self.due == math.inf else max(0.0, self.due - self._clock.elapsed())
