"""Rate and lag over the last minute: what is read, what is drawn, and what a real sandbox shows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.text.bars import plot
from tui.text.readings import Readings

VALUES = st.lists(st.none() | st.floats(0, 1e9), min_size=1, max_size=80)


@given(VALUES, st.integers(1, 12))
def test_a_plot_is_as_wide_as_its_values_and_reaches_the_top(values: list[float | None], height: int) -> None:
    """The largest value fills its column, 0 is a line, and what is not known is a gap."""
    rows = plot(values, height)
    assert [len(row) for row in rows] == [len(values)] * height
    columns = ["".join(column) for column in zip(*rows, strict=True)]
    top = max((value for value in values if value is not None), default=0.0)
    for value, column in zip(values, columns, strict=True):
        if value is None:
            assert not column.strip()
        elif value == 0:
            assert column.strip() == "▁"
        else:
            assert column.strip() not in {"", "▁"} or height == 1
        if value == top > 0:
            assert column == "█" * height


def test_a_rate_is_the_growth_of_a_counter_in_each_part_of_the_time() -> None:
    """A minute in twelve cells of five seconds; before the first reading nothing is known."""
    readings = Readings()
    for at, records in ((40.0, 0), (50.0, 100), (55.0, 100), (60.0, 50)):
        readings.note("input", at, records)
    assert readings.rates("input", 60.0, 12) == [*[None] * 8, 10.0, 10.0, 0.0, 10.0]
    assert readings.rates("output", 60.0, 12) == [None] * 12


def test_the_latest_rates_and_levels_are_those_between_the_last_readings() -> None:
    """What the sparklines draw. A counter that fell was reset to 0; of one reading there is no rate."""
    readings = Readings()
    readings.note("input", 0.0, 100)
    assert readings.latest_rates("input", 6) == []
    for at, records in ((2.0, 150), (3.0, 10), (4.0, 10)):
        readings.note("input", at, records)
    assert readings.latest_rates("input", 6) == [25.0, 10.0, 0.0]
    assert readings.latest_rates("input", 2) == [10.0, 0.0]
    assert readings.latest_levels("input", 2) == [10, 10]
    assert readings.latest_levels("output", 2) == []


def test_a_record_within_milliseconds_is_no_rate_of_hundreds() -> None:
    """Two looks at almost the same time are one for the rate that is written beside a stream."""
    readings = Readings()
    readings.note("input", 0.0, 0)
    readings.note("input", 0.01, 5)
    assert readings.latest_rates("input", 6) == []
    readings.note("input", 1.0, 10)
    readings.note("input", 1.01, 11)
    assert readings.latest_rates("input", 6) == [10.0]


def test_readings_close_together_take_each_others_place() -> None:
    """Sixty looks a second hold no more than a look every half second does, and the last one counts."""
    readings = Readings()
    for look in range(60 * 120):
        readings.note("input", look / 60, look)
    assert len(readings._held["input"]) < 130
    rates = readings.rates("input", 60 * 120 / 60 - 1 / 60, 60)
    assert all(rate is not None and 59 < rate < 61 for rate in rates)


def test_a_level_that_nobody_reads_any_more_is_a_gap() -> None:
    """The lag of a stream whose last reader left is not drawn on as if it were there."""
    readings = Readings()
    readings.note("input", 10.0, 4)
    readings.note("input", 12.0, 7)
    levels = readings.levels("input", 60.0, 60)
    assert levels[8:18] == [None, 4, 4, 7, 7, 7, 7, 7, None, None]
