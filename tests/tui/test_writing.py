"""How figures, bars and cells are written."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rdss_sandbox.shapes.sequences import SequenceRow
from rdss_sandbox.text import figures
from tui.text import sequence_parts
from tui.text.bars import range_bar, sparkline
from tui.text.columns import ListColumn, choose_columns, fit


def test_figures_are_written_for_reading() -> None:
    """Sizes in decimal units, times with milliseconds, identifiers by where they differ."""
    assert [figures.size(n) for n in (0, 999, 1_000, 12_345, 1_000_000, 2_500_000_000)] == [
        "0 B", "999 B", "1.00 kB", "12.3 kB", "1.00 MB", "2.50 GB",
    ]  # fmt: skip
    assert [figures.rate(n) for n in (0.0, 0.5, 2013.4)] == ["0/s", "0.5/s", "2,013/s"]
    assert figures.clock_time(1_780_000_000.0901) == "20:26:40.090"
    assert [figures.span(s) for s in (0.34, 2.5, 360, 7200)] == ["340 ms", "2.5 s", "6.0 min", "2.0 h"]
    assert figures.shard("shardId-000000000012") == "0012"
    assert figures.shard("amqp-1795262743512") == "amqp"
    assert figures.tail("1234567890", 5) == "…7890"


@given(st.text(max_size=40), st.integers(1, 30))
def test_a_cell_is_exactly_as_wide_as_its_column(text: str, width: int) -> None:
    """Whatever comes from outside, wide and control characters included, a row keeps its columns."""
    column: ListColumn[str] = ListColumn("", width, str)
    assert cell_len(column.fit(text, width)) == width
    assert column.fit(text, width).isprintable()


@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(0, 9)), min_size=1, max_size=12), st.integers(20, 200)
)
def test_columns_fit_and_the_least_worth_goes_first(made: list[tuple[int, int]], width: int) -> None:
    """No row is wider than its list, and nothing is left out that was worth more than what was kept."""
    columns = [ListColumn(str(number), size, str, worth=worth) for number, (size, worth) in enumerate(made)]
    chosen = [column for column, _ in choose_columns(columns, width)]
    assert sum(cells + 1 for _, cells in choose_columns(columns, width)) - 1 <= width
    gone = [column.worth for column in columns if column not in chosen]
    assert not gone or max(gone) <= min(column.worth for column in chosen)


def test_text_that_does_not_fit_says_so() -> None:
    """An ellipsis stands where something was cut."""
    assert fit("PreservationEvent", 8) == "Preserv…"
    assert fit("7", 3, right=True) == "  7"


def test_a_sparkline_is_scaled_to_its_highest() -> None:
    """The highest is a full bar, nothing is the lowest, what was before is flat."""
    assert sparkline([0, 4, 8], 5) == "▁▁▁▄█"
    assert sparkline([], 3) == "▁▁▁"


@given(st.integers(0, 4095), st.integers(1, 4096), st.integers(1, 40))
def test_a_hash_range_is_never_invisible(start: int, length: int, width: int) -> None:
    """However narrow a shard is, its bar shows where it lies."""
    bar = range_bar(start / 4096, min(start + length, 4096) / 4096, width)
    assert len(bar) == width
    assert set(bar) - {"·"}


def row(total: int, *positions: int) -> SequenceRow:
    return SequenceRow("s", "input", None, total, positions, len(positions) + 1, 1, 0.0, 1.0, None)


def test_a_sequence_is_too_late_when_a_part_expires_or_the_receiver_gives_up() -> None:
    """Whichever is first: a part's expirationTimestamp, or a day after the last part that came."""
    assert sequence_parts.deadline(row(3, 1), 86_400) == 86_401.0
    assert sequence_parts.deadline(msgspec.structs.replace(row(3, 1), expires=60.0), 86_400) == 60.0
    assert sequence_parts.deadline(msgspec.structs.replace(row(3, 1), expires=1e9), 86_400) == 86_401.0


def test_parts_say_what_is_missing() -> None:
    """A filled cell for each part that came; gaps, repeats and impossible positions in words."""
    assert sequence_parts.cells(row(4, 1, 2, 4), 10) == "■■□■"
    assert sequence_parts.describe_parts(row(4, 1, 2, 4)) == "missing 3; 1 repeated"
    assert sequence_parts.describe_parts(row(2, 1, 2, 9)) == "complete; 1 repeated; no such position: 9"
    assert sequence_parts.cells(row(100, *range(1, 51)), 10) == "■■■■■□□□□□"
    assert sequence_parts.describe_parts(row(10**15, 1)).startswith("missing 2, 3, 4")
