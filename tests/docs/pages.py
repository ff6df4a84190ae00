"""The blocks of a Markdown page, with what its comments say of each.

A comment stands directly before a block and is not shown to readers:

``<!-- not run: why -->``     it needs what is not here: Docker, a cluster, AWS
``<!-- slow: why -->``        it takes long: run by ``make test-slow``; as the first line of a page, all of it
``<!-- given: ... -->``       what a reader has before: commands or Python that are run first
``<!-- then: ... -->``        what must be so afterwards, in the same language; of an integration, in Python
``<!-- file: NAME -->``       the block is what is in this file of the reader's
``<!-- loaded as: WHAT -->``  which of ``loaders.LOADERS`` reads it
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
RUN = ("sh", "console", "python")
LOADED = ("toml", "yaml", "json")
SHOWN = ("text",)
WRITTEN = ("java", "javascript", "go", "xml", "diff")
"""What only stands in files of the reader's; tests/real_clients/test_other_languages.py runs those."""
WORDS = ("not run", "slow", "given", "then", "file", "loaded as")
_BLOCK = re.compile(
    r"(?P<comments>(?:^<!--(?:(?!-->).)*-->\n)*)^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_SLOW_PAGE = re.compile(r"\A<!-- slow: (.*) -->\n")
_COMMENT = re.compile(r"<!--\s*(?P<word>[a-z ]+):\s*(?P<said>.*?)\s*-->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block; ``line`` is where its text begins, ``said`` what its comments say, by first words."""

    page: Path
    line: int
    language: str
    text: str
    said: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order. ValueError for a comment that says what nobody knows."""
    text = page.read_text(encoding="utf-8")
    whole = {"slow": slow[1]} if (slow := _SLOW_PAGE.match(text)) else {}
    found = []
    for match in _BLOCK.finditer(text):
        said = {each["word"].strip(): each["said"] for each in _COMMENT.finditer(match["comments"])}
        line = text.count("\n", 0, match.start("text")) + 1
        if unknown := said.keys() - {*WORDS}:
            raise ValueError(f"{page.name}:{line}: nobody knows {', '.join(unknown)}")
        found.append(Block(page, line, match["language"], match["text"], whole | said))
    return found
