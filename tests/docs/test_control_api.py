"""docs/control-api.md is the page of what is declared."""

from __future__ import annotations

from emulator.listeners.control.page import render_markdown
from tests.docs.pages import ROOT


def test_the_page_is_up_to_date() -> None:
    """Otherwise: python -m emulator.listeners.control.page docs/control-api.md."""
    page = (ROOT / "docs" / "control-api.md").read_text(encoding="utf-8")
    assert page.count("\n### ") > 100
    assert page == render_markdown()
