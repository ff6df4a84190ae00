"""Links between pages lead somewhere, and files that pages name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "examples/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
_FOLDERS = r"\.ci|compose|docs|emulator|examples|rdss_sandbox|sandbox|schemas|tests|tui"
_FILE = re.compile(rf"`((?:{_FOLDERS})/[\w./-]*)`")


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Relative links name a file of the repository, and a heading in it where they name one."""
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), target
        assert not anchor or anchor in _anchors(there), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_are_there(page: Path) -> None:
    """A path in a page, written as code, is a file or folder of the repository."""
    for named in _FILE.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / named).exists(), named
