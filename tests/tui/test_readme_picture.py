"""The picture in the README shows the TUI as it is."""

from __future__ import annotations

import re

from tests.tui.readme_picture import PICTURE, taken, words


async def test_the_picture_shows_what_the_screen_says() -> None:
    """Places, headings, messages and keys; what moves with time, bars and rates, is no matter of it."""
    assert _said(PICTURE.read_text(encoding="utf-8")) == _said(await taken())


def _said(svg: str) -> set[str]:
    return {word for text in words(svg) for word in re.findall(r"[A-Za-z]{2,}", text)}
