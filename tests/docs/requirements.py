"""The demands of the documents, and the pages made of them.

``docs/requirements/*.yaml`` is the data, a file for each document. ``python -m tests.docs.requirements``
writes ``docs/requirements.md`` and a page beside each file.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

import msgspec
import yaml

ROOT: Final = Path(__file__).parents[2]
DATA: Final = ROOT / "docs/requirements"
INDEX: Final = ROOT / "docs/requirements.md"

_INDEX: Final = """\
# Requirements

What the documents demand that this project is built from: each demand in our own words, where it is met,
and the test that shows it. What they describe and is deliberately not here is listed at the end of each page,
with the reason.

| document | demands | not here |
|---|---|---|
{rows}
A demand has an entry in `docs/requirements/*.yaml`; `python -m tests.docs.requirements` makes these pages of
it. `tests/docs/test_requirements.py` fails when a page differs, when a test or file that is named does not
exist, and beside the documents when a sentence of theirs has no entry.
"""
_WHERE_ELSE: Final = "All the documents: [requirements.md](../requirements.md). Tests are below `tests/`."


class Demand(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """``section`` is a heading of the text, or a heading and one below it with `` / `` between.

    ``lines`` are those of the text that demand it. ``where`` are paths from the root of the project,
    ``tests`` pytest's ids from ``tests/``. ``position`` says how it is read where the text leaves that open.
    """

    section: str
    demand: str
    where: tuple[str, ...]
    tests: tuple[str, ...]
    lines: tuple[int, ...] = ()
    keyword: str = ""
    position: str = ""


class Absent(msgspec.Struct, forbid_unknown_fields=True):
    """Something that the document describes and that is not here."""

    what: str
    why: str


class Part(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The demands of one text, in its order.

    ``text`` is its file beside the checkout. ``silent`` are the lines that demand nothing that could be
    shown; None if keywords in the text say which lines demand, or nobody claims every line of it.
    """

    text: str
    demands: tuple[Demand, ...]
    title: str = ""
    silent: tuple[int, ...] | None = None


class Document(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One document: what it demands, and what of it is not here."""

    name: str
    introduction: str
    parts: tuple[Part, ...]
    absent: tuple[Absent, ...]

    @property
    def demands(self) -> list[Demand]:
        return [demand for part in self.parts for demand in part.demands]


def documents() -> dict[str, Document]:
    """The documents by the names of their files. ValidationError for a file that is not of their form."""
    order = ("rdss", "amps", "openhub", "claims")
    found = {path.stem: path for path in DATA.glob("*.yaml")}
    assert set(found) == {*order}, f"docs/requirements holds {sorted(found)}"
    return {
        name: msgspec.convert(yaml.load(found[name].read_text(encoding="utf-8"), yaml.CSafeLoader), Document)
        for name in order
    }


def pages() -> dict[Path, str]:
    """Each page and what it says."""
    known = documents()
    rows = "".join(
        f"| [{each.name}](requirements/{name}.md) | {len(each.demands)} | {len(each.absent)} |\n"
        for name, each in known.items()
    )
    return {INDEX: _INDEX.format(rows=rows)} | {
        DATA / f"{name}.md": _page(document) for name, document in known.items()
    }


def _page(document: Document) -> str:
    numbered = enumerate(document.demands, start=1)
    blocks = [f"# {document.name}", f"{document.introduction.strip()}\n\n{_WHERE_ELSE}"]
    for part in document.parts:
        if part.title:
            blocks.append(f"## {part.title}")
        mine = [next(numbered) for _ in part.demands]
        for section, rows in groupby(mine, key=lambda row: row[1].section):
            blocks += [f"{'###' if part.title else '##'} {section}", "\n".join(_table(list(rows)))]
    absent = "\n".join(f"| {each.what} | {each.why} |" for each in document.absent)
    blocks += ["## Deliberately not here", f"| what | why |\n|---|---|\n{absent}"]
    return "\n\n".join(blocks) + "\n"


def _table(rows: list[tuple[int, Demand]]) -> Iterator[str]:
    keyworded = any(demand.keyword for _, demand in rows)
    yield f"| |{' |' * keyworded} demand | where | shown by |"
    yield "|---" * (4 + keyworded) + "|"
    for number, each in rows:
        said = f"{each.demand} *{each.position}*" if each.position else each.demand
        cells = [str(number), *([each.keyword] if keyworded else []), said]
        yield f"| {' | '.join((*cells, _code(each.where), _code(each.tests)))} |"


def _code(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
