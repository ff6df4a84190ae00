"""Deadlines, soonest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", int, str)

_LEAST_STALE: Final = 1024


class Deadlines(Generic[Key]):
    """Keys with their deadlines, in seconds since the epoch.

    An entry is a hint: the caller checks that the thing still exists and is due, so
    entries need not be removed. When ``is_crowded`` finds too many stale ones, the caller
    replaces all by those that live, which bounds the memory.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, Key]] = []

    def add(self, when: float, key: Key) -> None:
        heapq.heappush(self._heap, (when, key))

    def pop_due(self, now: float) -> list[Key]:
        """Remove and return the keys that are due, in order."""
        heap, taken = self._heap, []
        while heap and heap[0][0] <= now:
            taken.append(heapq.heappop(heap)[1])
        return taken

    def soonest(self) -> float | None:
        """The earliest deadline, in seconds since the epoch."""
        return self._heap[0][0] if self._heap else None

    def is_crowded(self, living: int) -> bool:
        return len(self._heap) > 2 * living + _LEAST_STALE

    def replace(self, entries: Iterable[tuple[float, Key]]) -> None:
        """Replace all entries by these."""
        self._heap = list(entries)
        heapq.heapify(self._heap)
