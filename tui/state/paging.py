"""Pages of rows: which ones a list of any length holds in memory, and which it has to fetch."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Row = TypeVar("Row")

PAGE_ROWS = 200


@dataclass(frozen=True)
class Page(Generic[Row]):
    """The rows from ``offset`` on, out of ``total`` rows. One that is not ``complete`` lacks known rows."""

    offset: int
    rows: Sequence[Row]
    total: int
    complete: bool = True


# Called with (offset, limit); a negative offset counts from the end, and is asked of lists that follow alone.
# Raises UnreachableError or RefusedError.
Source = Callable[[int, int], Awaitable[Page[Row]]]


class Pages(Generic[Row]):
    """The ``keep`` pages that were used last. Of a page some rows can be missing."""

    def __init__(self, size: int = PAGE_ROWS, keep: int = 20) -> None:
        self.size = size
        self._keep = keep
        self._held: OrderedDict[int, dict[int, Row]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def row(self, index: int) -> Row | None:
        """The row at ``index``, or None while it is missing. Marks its page as used."""
        number = index // self.size
        row = self._held.get(number, {}).get(index)
        if row is not None:
            self._held.move_to_end(number)
        return row

    def find(self, holds: Callable[[Row], bool]) -> int | None:
        """The index of the first held row for which ``holds`` is true."""
        held = sorted(index for page in self._held.values() for index, row in page.items() if holds(row))
        return held[0] if held else None

    def held_rows(self) -> Iterator[Sequence[Row]]:
        """The rows that are held, page by page."""
        return (tuple(page.values()) for page in self._held.values())

    def holds(self, page: Page[Row]) -> bool:
        """Whether the rows of this page are held, and equal."""
        return bool(page.rows) and all(held == row for held, row in self._pairs(page))

    def extends(self, page: Page[Row]) -> bool:
        """Whether the held rows of this page are unchanged in the new one."""
        return all(held is None or held == row for held, row in self._pairs(page))

    def _pairs(self, page: Page[Row]) -> Iterator[tuple[Row | None, Row]]:
        """What is held at the place of each row of the page, and the row."""
        for index, row in enumerate(page.rows, page.offset):
            yield self._held.get(index // self.size, {}).get(index), row

    def put(self, page: Page[Row]) -> None:
        """Hold the rows of a page that starts anywhere; the least recently used pages are dropped."""
        for index, row in enumerate(page.rows, page.offset):
            self._held.setdefault(index // self.size, {})[index] = row
        for number in range(page.offset // self.size, (page.offset + len(page.rows)) // self.size + 1):
            if number in self._held:
                self._held.move_to_end(number)
        while len(self._held) > self._keep:
            self._held.popitem(last=False)

    def missing(self, first: int, last: int, total: int) -> list[int]:
        """The offsets of the pages to fetch for the rows ``first`` to ``last`` (inclusive) of ``total``.

        Marks the pages of these rows as used: those that are fetched take the place of others.
        """
        last = min(last, total - 1)
        numbers = range(first // self.size, last // self.size + 1)
        for number in numbers:
            if number in self._held:
                self._held.move_to_end(number)
        return [
            number * self.size
            for number in numbers
            if any(
                index not in self._held.get(number, {})
                for index in range(max(first, number * self.size), min(last + 1, (number + 1) * self.size))
            )
        ]

    def clear(self) -> None:
        """Drop every page."""
        self._held.clear()


async def first_index(source: Source[Row], reached: Callable[[Row], bool]) -> int:
    """The index of the first row for which ``reached`` is true, or the total when there is none.

    ``reached`` must stay true for all later rows. A binary search needs about 20 requests of one row each
    for a million rows.
    """
    low, high = 0, (await source(0, 1)).total
    while low < high:
        middle = (low + high) // 2
        page = await source(middle, 1)
        if page.rows and not reached(page.rows[0]):
            low = middle + 1
        else:
            high = middle
    return low
