"""Pages of rows: which ones a list of any length holds in memory, and which it has to fetch."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Row = TypeVar("Row")

PAGE_ROWS = 200


@dataclass(frozen=True)
class Page(Generic[Row]):
    """The rows from ``offset`` on, out of ``total`` rows."""

    offset: int
    rows: Sequence[Row]
    total: int


# Called with (offset, limit); raises UnreachableError or RefusedError.
Source = Callable[[int, int], Awaitable[Page[Row]]]


class Pages(Generic[Row]):
    """The ``keep`` pages that were used last. A page that is shorter than it should be counts as missing."""

    def __init__(self, size: int = PAGE_ROWS, keep: int = 20) -> None:
        self.size = size
        self._keep = keep
        self._held: OrderedDict[int, Sequence[Row]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def row(self, index: int) -> Row | None:
        """The row at ``index``, or None while its page is missing. Marks the page as used."""
        number, within = divmod(index, self.size)
        page = self._held.get(number)
        if page is None or within >= len(page):
            return None
        self._held.move_to_end(number)
        return page[within]

    def holds(self, page: Page[Row]) -> bool:
        """Whether an equal page is held."""
        return self._held.get(page.offset // self.size) == page.rows

    def extends(self, page: Page[Row]) -> bool:
        """Whether the held rows of this page are unchanged in the new one."""
        held = self._held.get(page.offset // self.size, ())
        return held == page.rows[: len(held)]

    def put(self, page: Page[Row]) -> None:
        """Hold a page that starts at a multiple of ``size``; the least recently used one is dropped."""
        number = page.offset // self.size
        self._held[number] = page.rows
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
            if len(self._held.get(number, ())) <= min(last - number * self.size, self.size - 1)
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
