"""Rates and levels over time, and their sparklines."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

_BARS = " ▁▂▃▄▅▆▇█"


class Rates:
    """The rates per second of named counters, in the last ``keep`` intervals of ``least`` seconds."""

    def __init__(self, keep: int = 60, least: float = 0.25) -> None:
        self._keep = keep
        self._least = least
        self._last: dict[str, tuple[float, int]] = {}
        self._rates: dict[str, deque[float]] = {}

    def note(self, name: str, at: float, count: int) -> None:
        """Add a reading of a counter at ``at`` seconds. A counter that fell was reset to 0."""
        before = self._last.setdefault(name, (at, count))
        if at - before[0] < self._least:
            return
        self._last[name] = at, count
        grown = count - before[1] if count >= before[1] else count
        self._rates.setdefault(name, deque(maxlen=self._keep)).append(grown / (at - before[0]))

    def of(self, name: str) -> Sequence[float]:
        """The rate in each interval, oldest first; empty before the second reading."""
        return tuple(self._rates.get(name, ()))

    def now(self, name: str) -> float:
        """The rate in the last interval, 0 before the second reading."""
        rates = self._rates.get(name)
        return rates[-1] if rates else 0.0


class Levels:
    """The last ``keep`` readings of named levels, such as the number of waiting records."""

    def __init__(self, keep: int = 60) -> None:
        self._keep = keep
        self._levels: dict[str, deque[float]] = {}

    def note(self, name: str, level: float) -> None:
        """Add a reading; a name is kept from its first reading above 0 on."""
        if level or name in self._levels:
            self._levels.setdefault(name, deque(maxlen=self._keep)).append(level)

    def of(self, name: str) -> Sequence[float]:
        """The readings, oldest first."""
        return tuple(self._levels.get(name, ()))


def sparkline(values: Sequence[float], width: int) -> str:
    """The last ``width`` values as bars, scaled to their maximum; flat where there are no values."""
    shown = values[-width:] if width > 0 else ()
    top = max(shown, default=0.0)
    bars = ("▁" if top == 0 or value == 0 else _BARS[max(2, round(value / top * 8))] for value in shown)
    return "".join(bars).rjust(width, "▁")


def range_bar(start: float, end: float, width: int) -> str:
    """The range ``start`` to ``end``, as fractions, in a bar; it fills at least half a cell."""
    halves = width * 2
    first = min(round(start * halves), halves - 1)
    last = max(round(end * halves), first + 1)
    cells = []
    for cell in range(width):
        left, right = first <= cell * 2 < last, first <= cell * 2 + 1 < last
        cells.append("█" if left and right else "▌" if left else "▐" if right else "·")
    return "".join(cells)
