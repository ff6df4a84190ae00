"""Lengths of time as people write them, wherever they write them."""

from __future__ import annotations

import pytest

from rdss_sandbox.text.durations import seconds


@pytest.mark.parametrize(
    ("written", "expected"),
    [("30s", 30), ("6m", 360), ("1.5h", 5400), ("200ms", 0.2), (" 7 d ", 604_800), ("7", 7), (0.5, 0.5)],
)
def test_lengths_of_time(written: object, expected: float) -> None:
    """Seconds, minutes, hours, days, milliseconds, or a bare number."""
    assert seconds(written) == pytest.approx(expected)


@pytest.mark.parametrize("written", ["soon", "", "-1s", -1, True, None, "5 s 2", float("nan")])
def test_what_is_no_length_of_time_is_refused(written: object) -> None:
    """The message says what would do."""
    with pytest.raises(ValueError, match="give seconds, or a text such as 200ms, 5s, 6m or 24h"):
        seconds(written)
