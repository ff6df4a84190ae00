"""What : understands."""

from __future__ import annotations

import pytest

from tui.state.goto import GoToEnd, GoToMessage, GoToMoment, SequenceNumber, parse

NOON = 1_780_056_000.0  # 2026-05-29T12:00:00Z


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TRIM_HORIZON", GoToEnd("first")),
        ("latest", GoToEnd("last")),
        ("#42", GoToMessage(42)),
        ("4959", SequenceNumber("4959")),
        ("AT_SEQUENCE_NUMBER 4959", SequenceNumber("4959")),
        ("AFTER_SEQUENCE_NUMBER 4959", SequenceNumber("4959", after=True)),
        ("AT_TIMESTAMP 2026-05-29T12:00:00.5Z", GoToMoment(NOON + 0.5)),
        ("2026-05-29T14:00:00+02:00", GoToMoment(NOON)),
        ("2026-05-29T12:00", GoToMoment(NOON)),
        ("11:30", GoToMoment(NOON - 1800)),
        ("11:30:15.25", GoToMoment(NOON - 1784.75)),
        ("-10m", GoToMoment(NOON - 600)),
    ],
)
def test_places_by_word_number_and_time(text: str, expected: object) -> None:
    """The five iterator words, sequence and message numbers, times and spans ago."""
    assert parse(text, NOON) == expected


@pytest.mark.parametrize("text", ["", " ", "soon", "AT_TIMESTAMP x", "AFTER_SEQUENCE_NUMBER x", "#", "-1x"])
def test_anything_else_is_refused_with_what_would_do(text: str) -> None:
    """No traceback, and no jump to somewhere else."""
    with pytest.raises(ValueError, match=r"try|give"):
        parse(text, NOON)
