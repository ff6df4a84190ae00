"""docs/control-api.md is the page of what is declared."""

from __future__ import annotations

from tests.docs.control_api_page import PAGE, render_markdown


def test_the_page_is_up_to_date() -> None:
    """Otherwise: python -m tests.docs.control_api_page."""
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("\n### ") > 100
    assert page == render_markdown()
