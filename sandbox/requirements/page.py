"""The page of requirements, made from the registry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from sandbox.requirements.registry import REQUIREMENTS
from sandbox.requirements.requirement import Requirement

_HEAD = """\
# Requirements

Every MUST, MUST NOT, SHOULD, SHOULD NOT and RECOMMENDED of the RDSS Message API 4.0.0, in its order:
{counts}. Tests are below `tests/`.
Where the specification contradicts itself, or needs to be read in one way, the position is in italics;
[contract.md](contract.md) has those about the form of messages.

This page is written by `python -m sandbox.requirements > docs/requirements.md`; a test fails when it differs,
and when a requirement names no test or one that does not exist.
"""


def page() -> str:
    """The whole of ``docs/requirements.md``."""
    numbered = enumerate(REQUIREMENTS, start=1)
    sections = [
        f"## {section}\n\n| | | requirement | where | shown by |\n|---|---|---|---|---|\n"
        + "".join(_rows(rows))
        for section, rows in groupby(numbered, key=lambda row: row[1].section)
    ]
    return "\n".join([_HEAD.format(counts=_counts()), *sections])


def _counts() -> str:
    counts = Counter(requirement.keyword for requirement in REQUIREMENTS)
    return ", ".join(f"{count} {keyword}" for keyword, count in counts.most_common())


def _rows(numbered: Iterator[tuple[int, Requirement]]) -> Iterator[str]:
    for number, each in numbered:
        demand = f"{each.demand} *{each.position}*" if each.position else each.demand
        cells = (str(number), each.keyword, demand, _listed(each.where), _listed(each.shown_by))
        yield f"| {' | '.join(cells)} |\n"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
