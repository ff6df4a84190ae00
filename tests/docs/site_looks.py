"""Gives the site what our other pages have: palette, mark and place. ``docs/assets/site.css`` uses them."""

from __future__ import annotations

from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from emulator.pages.frame import ICON, PALETTE

_SEARCH = 'data-md-component="search" role="dialog"'
_BEFORE = '<form class="md-header__option" data-md-component="palette">'
_PLACES = '<nav class="places" aria-label="Places"><a href="{}" aria-current="page">Documentation</a></nav>'


def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, "assets/palette.css", content=PALETTE.read_text(encoding="utf-8")))
    files.append(File.generated(config, "assets/mark.svg", content=ICON))
    return files


def on_post_page(output: str, page: Page, **_: Any) -> str:
    assert _SEARCH in output, "the theme has changed"
    assert _BEFORE in output, "the theme has changed"
    # A dialog that has no name is none to a reader of screens.
    named = output.replace(_SEARCH, f'{_SEARCH} aria-label="Search"')
    return named.replace(_BEFORE, _PLACES.format(get_relative_url("index.html", page.url)) + _BEFORE)
