"""Completes the site's navigation: a page that ``mkdocs.yml`` does not place comes last in a section.

MkDocs calls ``on_files``. So readers find a page that somebody adds, before anybody thinks of the navigation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files

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


def _list_places(nav: Any) -> Iterator[str]:
    """The pages that a navigation names, at any depth."""
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from _list_places(entry)
