"""The generated part of docs/certify.md: ``python -m sandbox.certify.page docs/certify.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from sandbox.certify.clause import Channel, Clause, Role
from sandbox.certify.clauses import clauses

_BEGIN: Final = "<!-- clauses -->"
_END: Final = "<!-- end -->"


def renewed(page: str) -> str:
    """Generate the tables of the clauses again. Raises ValueError when a mark is missing."""
    tables = ((role, channel) for channel in Channel for role in Role)
    return renew_part(page, _BEGIN, (line for each in tables for line in _table(*each)))


def renew_part(page: str, mark: str, lines: Iterable[str]) -> str:
    """Put lines between a mark of the page and the end mark behind it. Raises ValueError without them."""
    before, begin, rest = page.partition(f"{mark}\n")
    _, end, after = rest.partition(_END)
    if not end:
        raise ValueError(f"the page has no place between {mark!r} and {_END!r}")
    text = "\n".join(lines)
    return f"{before}{begin}{text}\n{end}{after}"


def _table(role: Role, channel: Channel) -> Iterator[str]:
    """The clauses of a role, for RabbitMQ without those that every channel has."""
    queued = channel is Channel.RABBITMQ
    wanted = [each for each in clauses(role, channel=channel) if not queued or len(each.channels) == 1]
    yield from ("", f"### For a {role} with RabbitMQ" if queued else f"### For a {role}", "")
    if queued:
        shared = [f"`{each.id}`" for each in clauses(role, channel=channel) if each not in wanted]
        yield from (f"These are the same as above: {', '.join(shared)}.", "")
    yield "| clause | group | level | what it demands | how it is tried | needed |"
    yield "|---|---|---|---|---|---|"
    yield from map(_row, wanted)


def _row(clause: Clause) -> str:
    level = clause.level.name.lower()
    demand = f"{clause.demand} *{clause.source}*"
    return f"| `{clause.id}` | {clause.group} | {level} | {demand} | {clause.exercise} | {clause.needed} |"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
