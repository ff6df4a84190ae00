"""Pages of a list: what is kept, what is missing, how a row is found."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tui.state.paging import Page, Pages, first_index


def page(offset: int, total: int, size: int = 10) -> Page[int]:
    """The page of the numbers themselves."""
    return Page(offset, tuple(range(offset, min(offset + size, total))), total)


def test_a_row_is_there_once_its_page_is() -> None:
    """Rows of a page that came can be read; others are None, not an error."""
    pages: Pages[int] = Pages(size=10)
    pages.put(page(20, 100))
    assert pages.row(25) == 25
    assert pages.row(5) is None


def test_a_page_that_was_short_is_missing_once_there_is_more() -> None:
    """The last page, read while it had three rows, is asked for again when a fourth is to be shown."""
    pages: Pages[int] = Pages(size=10)
    pages.put(page(10, 13))
    assert pages.missing(10, 19, 13) == []
    assert pages.missing(10, 19, 14) == [10]


def test_only_the_pages_used_last_are_kept() -> None:
    """Memory stays flat however far is scrolled."""
    pages: Pages[int] = Pages(size=10, keep=3)
    for offset in range(0, 1000, 10):
        pages.put(page(offset, 1000))
    assert len(pages) == 3
    assert pages.row(995) == 995
    assert pages.row(5) is None


@example(300, 0, 60, {0, *range(10, 29)})
@given(st.integers(1, 300), st.integers(0, 320), st.integers(0, 60), st.sets(st.integers(0, 30), max_size=20))
def test_what_is_missing_completes_the_view(total: int, first: int, length: int, held: set[int]) -> None:
    """After the missing pages came every row in view is there, and none was asked for in vain."""
    pages: Pages[int] = Pages(size=10)
    for number in held:
        if number * 10 < total:
            pages.put(page(number * 10, total))
    wanted = pages.missing(first, first + length, total)
    assert not any(offset // 10 in held for offset in wanted)
    for offset in wanted:
        pages.put(page(offset, total))
    for index in range(first, min(first + length + 1, total)):
        assert pages.row(index) == index


@given(st.integers(0, 2000), st.integers(0, 2500))
async def test_the_first_row_is_found_in_few_requests(total: int, wanted: int) -> None:
    """Halving finds the first row that is far enough; the total when none is."""
    asked = 0

    async def source(offset: int, limit: int) -> Page[int]:
        nonlocal asked
        asked += 1
        return page(offset, total, limit)

    assert await first_index(source, lambda row: row >= wanted) == min(wanted, total)
    assert asked <= 13


def test_the_end_of_a_list_is_held_without_what_is_before_it() -> None:
    """A list that follows fetches the rows in view; the rest of their pages is fetched on scrolling up."""
    pages: Pages[int] = Pages(size=10)
    pages.put(Page(17, tuple(range(17, 25)), 25))
    assert [pages.row(index) for index in (16, 17, 19, 20, 24)] == [None, 17, 19, 20, 24]
    assert pages.missing(17, 24, 25) == []
    assert pages.missing(15, 24, 25) == [10]
    assert pages.holds(Page(20, (20, 21), 25))
    assert not pages.extends(Page(20, (0,), 25))
    assert pages.extends(Page(24, (24, 25), 26))
