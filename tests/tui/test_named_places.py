"""What a name after : means."""

from __future__ import annotations

import pytest

from tui.state.named_places import find_place, is_message_id

NAMED = {
    "streams": "streams",
    "input": "streams",
    "input 0001": "streams",
    "GENERR006": "errors",
    "invalid": "streams",
}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("input", "input"),
        ("Input  0001", "input 0001"),
        ("generr", "GENERR006"),
        ("inv", "invalid"),
        ("inp", "input"),
        ("in", None),
        ("nothing", None),
    ],
)
def test_a_name_is_found_whole_or_by_its_beginning(text: str, name: str | None) -> None:
    """In any case; a beginning that several names share means none of them."""
    assert find_place(text, NAMED) == name


@pytest.mark.parametrize(
    ("text", "is_id"),
    [
        ("3f2a1c", True),
        ("3F2A1C77-0000-4000-8000-000000000000", True),
        ("3f2a1", False),
        ("495917", False),
        ("14:05", False),
        ("LATEST", False),
        ("-10m", False),
    ],
)
def test_a_message_id_is_told_from_a_sequence_number_and_a_time(text: str, is_id: bool) -> None:
    """Six hexadecimal digits or more, and not digits alone."""
    assert is_message_id(text) is is_id
