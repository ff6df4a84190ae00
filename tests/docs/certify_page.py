"""The generated part of docs/certify.md: ``python -m tests.docs.certify_page docs/certify.md``."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from emulator.channels.kind_registry import list_kinds
from sandbox.certify.clause import Clause, Role
from sandbox.certify.clauses import CLAUSES, OWN_CLAUSES
from tests.docs.page_parts import renew_file, renew_part

_HEAD: Final = (
    "| clause | group | level | what it demands | how it is tried | needed |",
    "|---|---|---|---|---|---|",
)


def renewed(page: str) -> str:
    """Generate the tables of the clauses again. Raises ValueError when a mark is missing."""
    tables = ((role, channel) for channel in list_kinds("certified") for role in Role)
    lines = [line for each in tables for line in _table(*each)]
    return renew_part(page, "clauses", "\n".join(["", *lines, *_table_of_handlers(), ""]))


def _table(role: Role, channel: str) -> Iterator[str]:
    """The clauses of a role, for RabbitMQ without those that every channel has."""
    queued = channel == "rabbitmq"
    of_role = (each for each in OWN_CLAUSES if each.role is role)
    own = [each for each in of_role if not each.channels or channel in each.channels]
    wanted = [each for each in own if not queued or each.channels]
    yield from ("", f"### For a {role} with RabbitMQ" if queued else f"### For a {role}", "")
    if queued:
        shared = [f"`{each.id}`" for each in own if each not in wanted]
        yield from (f"These are the same as above: {', '.join(shared)}.", "")
    yield from _HEAD
    yield from map(_row, wanted)


def _table_of_handlers() -> Iterator[str]:
    """The clauses of handlers, which an extension brings."""
    consumers = [each for each in CLAUSES if each.role is Role.CONSUMER]
    shared = [f"`{each.id}`" for each in consumers if not each.channels]
    added = {name for each in consumers for name in each.channels}.difference(list_kinds("certified"))
    yield from ("", "### For a handler of Lambda", "")
    yield from (f"These are the same as for a consumer: {', '.join(shared)}.", "", *_HEAD)
    yield from (_row(each, added) for each in consumers if each.channels & added)


def _row(clause: Clause, of: AbstractSet[str] = frozenset()) -> str:
    """The row of a clause in a table of these channels."""
    level = clause.level.name.lower()
    only = f" Only with {', '.join(clause.channels)}." if clause.channels < of else ""
    demand = f"{clause.demand}{only} *{clause.source}*"
    return f"| `{clause.id}` | {clause.group} | {level} | {demand} | {clause.exercise} | {clause.needed} |"


if __name__ == "__main__":
    renew_file(renewed)
