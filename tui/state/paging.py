"""Rows by the page: what a list of any length keeps in memory, and what it still has to ask for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Row = TypeVar("Row")

PAGE_ROWS = 200


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Rows from ``offset`` on, out of ``total`` rows there are."""

    offset: int
    rows: Sequence[Row]
    total: int


# Asked for (offset, limit); raises Unreachable or Refused.
Source = Callable[[int, int], Awaitable[Page[Row]]]


class Pages(Generic[Row]):
    """The pages used last, ``keep`` of them; a page shorter than it should be by now counts as missing."""

    def __init__(self, size: int = PAGE_ROWS, keep: int = 20) -> None:
        self.size = size
        self._keep = keep
        self._held: OrderedDict[int, Sequence[Row]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def row(self, index: int) -> Row | None:
        """The row at ``index``, or None while its page is not here."""
        number, within = divmod(index, self.size)
        page = self._held.get(number)
        if page is None or within >= len(page):
            return None
        self._held.move_to_end(number)
        return page[within]

    def holds(self, page: Page[Row]) -> bool:
        """Whether this page is here already, just as it is."""
        return self._held.get(page.offset // self.size) == page.rows

    def extends(self, page: Page[Row]) -> bool:
        """Whether what is held of this page stays as it is."""
        held = self._held.get(page.offset // self.size, ())
        return held == page.rows[: len(held)]

    def put(self, page: Page[Row]) -> None:
        """Keep a page that starts on a page border; the one used longest ago makes room."""
        number = page.offset // self.size
        self._held[number] = page.rows
        self._held.move_to_end(number)
        while len(self._held) > self._keep:
            self._held.popitem(last=False)

    def missing(self, first: int, last: int, total: int) -> list[int]:
        """Offsets of the pages needed to show rows ``first`` to ``last`` (inclusive) of ``total``."""
        last = min(last, total - 1)
        return [
            number * self.size
            for number in range(first // self.size, last // self.size + 1)
            if len(self._held.get(number, ())) <= min(last - number * self.size, self.size - 1)
        ]

    def clear(self) -> None:
        """Forget everything: the rows are another list's now."""
        self._held.clear()


async def first_index(source: Source[Row], reached: Callable[[Row], bool]) -> int:
    """Index of the first row for which ``reached`` holds; the total when there is none.

    Rows must be ordered so that ``reached`` never turns false again: found by halving, in about 20
    requests of one row for a million rows.
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
