"""The page of the commands says what the commands say."""

from __future__ import annotations

from tests.docs.commands_page import PAGE, page


def test_the_page_is_made_of_the_commands() -> None:
    """When this fails: python -m tests.docs.commands_page."""
    assert PAGE.read_text(encoding="utf-8") == page()
