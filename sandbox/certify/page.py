"""The generated part of docs/certify.md: ``python -m sandbox.certify.page docs/certify.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from sandbox.certify.clause import Clause, Role
from sandbox.certify.clauses import clauses

_BEGIN: Final = "<!-- clauses -->"
_END: Final = "<!-- end -->"


def renewed(page: str) -> str:
    """Generate the tables of the clauses again. Raises ValueError when a mark is missing."""
    return renew_part(page, _BEGIN, (line for role in Role for line in _table(role)))


def renew_part(page: str, mark: str, lines: Iterable[str]) -> str:
    """Put lines between a mark of the page and the end mark behind it. Raises ValueError without them."""
    before, begin, rest = page.partition(f"{mark}\n")
    _, end, after = rest.partition(_END)
    if not end:
        raise ValueError(f"the page has no place between {mark!r} and {_END!r}")
    text = "\n".join(lines)
    return f"{before}{begin}{text}\n{end}{after}"


def _table(role: Role) -> Iterator[str]:
    yield from ("", f"### For a {role}", "")
    yield "| clause | group | level | what it demands | how it is tried | needed |"
    yield "|---|---|---|---|---|---|"
    yield from map(_row, clauses(role))


def _row(clause: Clause) -> str:
    level = clause.level.name.lower()
    demand = f"{clause.demand} *{clause.source}*"
    return f"| `{clause.id}` | {clause.group} | {level} | {demand} | {clause.exercise} | {clause.needed} |"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
