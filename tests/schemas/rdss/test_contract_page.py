"""The page of positions names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_each_position_is_shown_by_a_test_that_exists() -> None:
    """A reader who wants the proof of a line finds it."""
    page = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 20
    for row in rows:
        named = re.findall(r"`((?:(?:\.\./)+[\w/]+/)?test_\w+\.py)(?:::([\w:]+))?`", row)
        assert named, row
        for file, inside in named:
            source = (ROOT / "tests" / "schemas" / "rdss" / file).read_text(encoding="utf-8")
            for name in filter(None, inside.split("::")):
                assert re.search(rf"(def|class) {name}\b", source), (file, name)
