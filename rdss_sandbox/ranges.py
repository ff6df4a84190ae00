"""Ranges of numbers, each (from, to before): merged, subtracted, counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Range: TypeAlias = tuple[int, int]


def merge(*ranges: Range) -> tuple[Range, ...]:
    """Merge ranges that touch, in ascending order."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def subtract(ranges: Iterable[Range], taken: Iterable[Range]) -> tuple[Range, ...]:
    """Return what is in ``ranges`` and in none of ``taken``."""
    left = list(ranges)
    for start, end in taken:
        left = [
            piece
            for low, high in left
            for piece in ((low, min(high, start)), (max(low, end), high))
            if piece[0] < piece[1]
        ]
    return tuple(left)


def count_numbers(ranges: Iterable[Range]) -> int:
    """Count the numbers in separate ranges."""
    return sum(end - start for start, end in ranges)


def close_gaps(ranges: tuple[Range, ...], most: int) -> tuple[Range, ...]:
    """Close the smallest gaps between ascending ranges until ``most`` ranges are left."""
    while len(ranges) > most:
        at = min(range(len(ranges) - 1), key=lambda i: ranges[i + 1][0] - ranges[i][1])
        ranges = (*ranges[:at], (ranges[at][0], ranges[at + 1][1]), *ranges[at + 2 :])
    return ranges
