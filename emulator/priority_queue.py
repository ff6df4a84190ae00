"""Items in the order of their ranks: the moments at which they are due, priorities, or positions."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class PriorityQueue(Generic[Item]):
    """Items with ranks, lowest first. Items of one rank leave in the order in which they were added.

    It has no clock, no thread and no lock. Its owner asks what is due.
    """

    __slots__ = ("_added", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Item]] = []
        self._added = 0

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Item]:
        """The items in no order."""
        return (item for _, _, item in self._heap)

    @property
    def first(self) -> Item | None:
        """The item of the lowest rank; None when the queue is empty."""
        return self._heap[0][2] if self._heap else None

    @property
    def lowest(self) -> float | None:
        """The lowest rank; None when the queue is empty."""
        return self._heap[0][0] if self._heap else None

    def add(self, rank: float, item: Item) -> None:
        self._added += 1
        heapq.heappush(self._heap, (rank, self._added, item))

    def pop(self) -> Item:
        """Remove and return the first item. Raises IndexError when the queue is empty."""
        return heapq.heappop(self._heap)[2]

    def pop_until(self, rank: float) -> list[Item]:
        """Remove and return the items of this rank and below, in order."""
        heap, taken = self._heap, []
        while heap and heap[0][0] <= rank:
            taken.append(heapq.heappop(heap)[2])
        return taken

    def remove(self, item: Item) -> None:
        """Remove an item at any place. The time grows with the length of the queue."""
        self._heap = [entry for entry in self._heap if entry[2] is not item]
        heapq.heapify(self._heap)

    def replace(self, entries: Iterable[tuple[float, Item]]) -> None:
        """Replace all items by these, each with its rank, as if they were added in this order."""
        self._heap = [(rank, order, item) for order, (rank, item) in enumerate(entries)]
        self._added = len(self._heap)
        heapq.heapify(self._heap)

    def copy(self) -> PriorityQueue[Item]:
        """A queue of the same items, which changes by itself."""
        twin: PriorityQueue[Item] = PriorityQueue()
        twin._heap, twin._added = list(self._heap), self._added
        return twin
