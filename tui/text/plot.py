"""Numbers over time as a plot of block characters."""

from __future__ import annotations

from collections.abc import Sequence

_EIGHTHS = " ▁▂▃▄▅▆▇█"


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
        "".join(_EIGHTHS[min(8, max(0, each - row * 8))] for each in eighths)
        for row in reversed(range(height))
    ]
