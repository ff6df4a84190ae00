"""Bars of block characters: sparklines, plots, and ranges."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = " ▁▂▃▄▅▆▇█"


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


def plot(values: Sequence[float | None], height: int) -> list[str]:
    """The values as bars in ``height`` rows, the highest row first, scaled from 0 to the largest value.

    A value of 0 is a line at the bottom, one above it higher than that line; None leaves a gap.
    """
    top = max((value for value in values if value is not None), default=0.0)
    eighths = [
        0 if value is None else max(2, round(value / top * height * 8)) if value > 0 else 1
        for value in values
    ]
    return [
        "".join(_BARS[min(8, max(0, each - row * 8))] for each in eighths) for row in reversed(range(height))
    ]
