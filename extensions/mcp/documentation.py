"""The pages of the project's documentation, and a search in their sections."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, cached_property
from math import log
from pathlib import Path
from typing import Final

import msgspec

_IN_WHEEL: Final = Path(__file__).with_name("docs")
"""Where a wheel has the pages; pyproject.toml puts them there."""
_FOLDER: Final = _IN_WHEEL if _IN_WHEEL.exists() else Path(__file__).parents[2] / "docs"
_EXCERPT: Final = 400
_WORDS: Final = re.compile(r"\w+(?:-\w+)*")
_WEIGHT_OF_HEADINGS: Final = 4
_USUAL_REPETITION: Final = 1.2


class NoPageError(LookupError):
    """A page, or a section of one, that is not there; the text says what is."""


class DocumentedSection(msgspec.Struct, frozen=True, dict=True):
    """A heading of a page, and what stands below it until the next one."""

    page: str
    heading: str
    text: str

    @cached_property
    def words(self) -> Counter[str]:
        """How often each word is in it; those of its heading and of its page's name count more."""
        above = Counter(_list_words(f"{self.heading} {self.page.removesuffix('.md')}"))
        return Counter(_list_words(self.text)) + Counter(dict.fromkeys(above, _WEIGHT_OF_HEADINGS))


class FoundSection(msgspec.Struct, frozen=True):
    """A section that a search found, and how its text begins."""

    page: str
    heading: str
    begins: str


def list_pages() -> dict[str, str]:
    """The title of each page, by its name such as ``how-to/lambda.md``."""
    return {name: sections[0].heading for name, sections in _read_pages().items()}


def read_page(page: str, heading: str = "") -> str:
    """The text of a page, or of its sections with this heading. Raises ``NoPageError``."""
    pages = _read_pages()
    if page not in pages:
        raise NoPageError(
            f"there is no page {page!r}; there are: {', '.join(pages) or 'none in this installation'}"
        )
    if not heading:
        return (_FOLDER / page).read_text(encoding="utf-8")
    found = [each.text for each in pages[page] if each.heading == heading]
    if not found:
        there = ", ".join(each.heading for each in pages[page])
        raise NoPageError(f"{page} has no section {heading!r}; it has: {there}")
    return "\n\n".join(found)


def search_pages(query: str, limit: int) -> list[FoundSection]:
    """Up to ``limit`` sections that have words of the query, those with the rarest and the most first."""
    sections = [each for page in _read_pages().values() for each in page]
    wanted = dict.fromkeys(_list_words(query))
    rarity = {
        word: log(1 + len(sections) / (1 + sum(word in each.words for each in sections))) for word in wanted
    }

    def weigh(section: DocumentedSection) -> float:
        counts = section.words
        return sum(rarity[word] * counts[word] / (counts[word] + _USUAL_REPETITION) for word in wanted)

    best = sorted(sections, key=weigh, reverse=True)[:limit]
    return [FoundSection(each.page, each.heading, each.text[:_EXCERPT]) for each in best if weigh(each)]


@cache
def _read_pages() -> dict[str, list[DocumentedSection]]:
    return {
        path.relative_to(_FOLDER).as_posix(): list(_split(path)) for path in sorted(_FOLDER.rglob("*.md"))
    }


def _split(path: Path) -> Iterator[DocumentedSection]:
    """The sections of a page; what looks like a heading in a block of code is none."""
    page, heading, fenced = path.relative_to(_FOLDER).as_posix(), "", False
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        fenced ^= line.startswith("```")
        if not fenced and (found := re.fullmatch(r"#{1,4} (.+)", line)):
            if heading:
                yield DocumentedSection(page, heading, "\n".join(lines).strip())
            heading, lines = found[1], []
        lines.append(line)
    yield DocumentedSection(page, heading, "\n".join(lines).strip())


def _list_words(text: str) -> Iterator[str]:
    """The words of a text, in small letters; of ``nothing-lost`` its parts too."""
    for word in _WORDS.findall(text.lower()):
        yield word
        if "-" in word:
            yield from word.split("-")
