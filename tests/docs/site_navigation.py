"""Completes the site's navigation: every page is there, under its own title.

MkDocs calls ``on_files``: a page that ``mkdocs.yml`` does not place comes last in a section, so that readers
find what somebody adds before anybody thinks of the navigation. It calls ``on_page_markdown``: MkDocs itself
finds no title behind a comment, and would make one of the file's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

SECTIONS = {"how-to": "How-to", "explanation": "Explanation"}
"""The section of a folder's pages; all others are for reference."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    assert config.nav, "mkdocs.yml has no nav"
    placed = {*_list_places(config.nav)}
    sections = {name: pages for entry in config.nav for name, pages in entry.items()}
    for page in files.documentation_pages():
        if page.src_uri not in placed:
            folder = PurePosixPath(page.src_uri).parts[0]
            sections[SECTIONS.get(folder, "Reference")].append(page.src_uri)
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    if title := re.search(r"^# (.+)$", markdown, re.MULTILINE):
        page.meta.setdefault("title", title[1])
    return markdown


def _list_places(nav: Any) -> Iterator[str]:
    """The pages that a navigation names, at any depth."""
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from _list_places(entry)
