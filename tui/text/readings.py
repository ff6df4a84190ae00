"""Readings of counters and levels, kept with their times, for the plots and sparklines of the last minute."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from itertools import pairwise

SECONDS = 60.0
"""How far back readings are kept."""
_APART_SECONDS = 0.5
_STALE_SECONDS = 5.0
"""How long a level is taken to stay as it was read. The sandbox is looked at every second."""


class Readings:
    """What named counters and levels were, at times in seconds."""

    def __init__(self) -> None:
        self._held: dict[str, deque[tuple[float, float]]] = {}

    def note(self, name: str, at: float, value: float) -> None:
        """Add a reading. Within half a second it takes the place of the one before."""
        held = self._held.setdefault(name, deque())
        if held and (held[-1][0] >= at or (len(held) > 1 and at - held[-2][0] < _APART_SECONDS)):
            held.pop()
        held.append((at, value))
        # One reading from before stays: a plot begins between it and the next.
        while len(held) > 1 and held[1][0] <= at - SECONDS:
            held.popleft()

    def latest_levels(self, name: str, most: int) -> list[float]:
        """The last readings of a level, oldest first."""
        return [value for _, value in self._held.get(name, ())][-most:]

    def latest_rates(self, name: str, most: int) -> list[float]:
        """The growth of a counter per second between its last readings, oldest first."""
        apart: list[tuple[float, float]] = []
        for at, count in self._held.get(name, ()):
            # In a few milliseconds one record is a rate of hundreds.
            if not apart or at - apart[-1][0] >= _APART_SECONDS / 2:
                apart.append((at, count))
        steps = list(pairwise(apart))[-most:]
        return [_grow(before, after) / (end - start) for (start, before), (end, after) in steps]

    def levels(self, name: str, now: float, cells: int) -> list[float | None]:
        """The level at the end of each of ``cells`` equal parts of the time; None without a recent one."""
        held = self._held.get(name, ())
        times = [at for at, _ in held]
        found: list[float | None] = []
        for cell in range(cells):
            end = now - SECONDS * (cells - cell - 1) / cells
            place = bisect_right(times, end)
            recent = place > 0 and end - times[place - 1] < _STALE_SECONDS
            found.append(held[place - 1][1] if recent else None)
        return found

    def rates(self, name: str, now: float, cells: int) -> list[float | None]:
        """The growth of a counter per second in each of ``cells`` parts of the time; None where not known.

        Between two readings it is taken to grow evenly.
        """
        width, began = SECONDS / cells, now - SECONDS
        grown: list[float | None] = [None] * cells
        for (start, before), (end, after) in pairwise(self._held.get(name, ())):
            growth = _grow(before, after)
            for cell in range(max(0, int((start - began) / width)), cells):
                left = began + cell * width
                if left >= end:
                    break
                share = (min(end, left + width) - max(start, left)) / (end - start)
                grown[cell] = (grown[cell] or 0.0) + share * growth / width
        return grown


def _grow(before: float, after: float) -> float:
    """The growth of a counter. One that fell was reset to 0."""
    return after - before if after >= before else after
