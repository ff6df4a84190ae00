"""The mutants in docs/certify.md: ``python -m tests.sandbox.certify.mutants_page docs/certify.md``."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from emulator.page_parts import renew_part
from sandbox.certify.clause import Role
from tests.sandbox.certify.mutants import CONSUMERS, PRODUCERS
from tests.sandbox.certify.queue_mutants import QUEUE_CONSUMERS, QUEUE_PRODUCERS
from tests.sandbox.certify.trials import CLIENTS, Mutant


def renew_mutants(page: str) -> str:
    """Generate the tables of the mutants again. Raises ValueError when a mark is missing."""
    tables = (
        (Role.CONSUMER, "stream", CONSUMERS),
        (Role.PRODUCER, "stream", PRODUCERS),
        (Role.CONSUMER, "queue", QUEUE_CONSUMERS),
        (Role.PRODUCER, "queue", QUEUE_PRODUCERS),
    )
    lines = (line for each in tables for line in _table(*each))
    return renew_part(page, "mutants", "\n".join(["", *lines, ""]))


def _table(role: Role, of: str, mutants: Iterable[Mutant]) -> Iterator[str]:
    yield from ("", f"### Wrong {role}s of a {of}", "")
    yield "| clause | what is changed | into | what fails with it |"
    yield "|---|---|---|---|"
    for each in mutants:
        before, after = _changed_lines(each)
        others = ", ".join(f"`{name}`" for name in sorted(each.fails - {each.clause}))
        into = "*the same, but earlier*" if before == after else _code(after)
        yield f"| `{each.clause}` | {_code(before)} | {into} | {others} |"


def _changed_lines(mutant: Mutant) -> tuple[list[str], list[str]]:
    """The lines of the right client that the mutant has otherwise, and what it has instead."""
    right = (CLIENTS / mutant.client).read_text(encoding="utf-8")
    wrong = right.replace(mutant.old, mutant.new)
    lines = list(difflib.ndiff(right.splitlines(), wrong.splitlines()))
    return [line[2:] for line in lines if line.startswith("- ")], [
        line[2:] for line in lines if line.startswith("+ ")
    ]


def _code(lines: Iterable[str]) -> str:
    found = "<br>".join(f"`{line.strip()}`" for line in lines)
    return found.replace("|", r"\|") or "*nothing*"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renew_mutants(path.read_text(encoding="utf-8")), encoding="utf-8")
