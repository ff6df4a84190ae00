"""Things that become due, soonest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", int, str)

_LEAST_STALE: Final = 1024


class Deadlines(Generic[Key]):
    """Keys with the time at which each is due, in seconds since the epoch.

    An entry is a hint: whoever takes it looks whether the thing is still there
    and due. ``crowded`` says when so many are stale that they should be made
    anew from what lives, which keeps memory in proportion to that.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, Key]] = []

    def add(self, when: float, key: Key) -> None:
        heapq.heappush(self._heap, (when, key))

    def due(self, now: float) -> list[Key]:
        """Take out what is due, in order."""
        heap, taken = self._heap, []
        while heap and heap[0][0] <= now:
            taken.append(heapq.heappop(heap)[1])
        return taken

    def soonest(self) -> float | None:
        """When the first may be due."""
        return self._heap[0][0] if self._heap else None

    def crowded(self, living: int) -> bool:
        return len(self._heap) > 2 * living + _LEAST_STALE

    def renew(self, entries: Iterable[tuple[float, Key]]) -> None:
        """Hold these and nothing else."""
        self._heap = list(entries)
        heapq.heapify(self._heap)
