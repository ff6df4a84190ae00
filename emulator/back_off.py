"""Pauses between the tries of something that failed."""

from __future__ import annotations

import math
from collections.abc import Iterator


def back_off(first: float, longest: float = math.inf) -> Iterator[float]:
    """Yield pauses in seconds without end: each is twice the one before it, up to ``longest``."""
    pause = first
    while True:
        yield pause
        pause = min(pause * 2, longest)
