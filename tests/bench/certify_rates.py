"""How often the kit found each kind of bug in each shape, as it is kept, in ``certify.json``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from rich.table import Table

from tests.sandbox.certify.population.population import WRONG
from tests.sandbox.certify.population.run import RIGHT, Result

FILE: Final = Path(__file__).parent / "certify.json"


class Rate(msgspec.Struct, frozen=True, order=True):
    """Of ``runs`` of a client, in how many the verdict was right: ``clause`` failed, or none of a right one.

    ``instead`` are the clauses that failed where the verdict was not right.
    """

    shape: str
    kind: str
    clause: str
    runs: int
    found: int
    instead: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """Whether the client is a right one."""
        return self.kind == RIGHT


_CLAUSES: Final = {(each.kind.name, each.shape.id): each.kind.clause for each in WRONG}


def is_right(result: Result) -> bool:
    """Whether the verdict of a run is right."""
    if result.error:
        return False
    if result.run.kind == RIGHT:
        return not result.failed
    return _CLAUSES[result.run.kind, result.run.shape] in result.failed


def describe(result: Result) -> str:
    """A line on a run."""
    run = result.run
    verdict = result.error or ", ".join(result.failed) or f"{result.level or 'no level'}, nothing failed"
    mark = "right" if is_right(result) else "WRONG"
    return f"{mark}: {run.kind or 'right client'}, {run.shape}, seed {run.seed}: {verdict}"


def count(results: Iterable[Result]) -> list[Rate]:
    """The rates of each kind and shape."""
    by_client: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for each in results:
        by_client[each.run.shape, each.run.kind].append(each)
    return sorted(
        Rate(
            shape,
            kind,
            _CLAUSES.get((kind, shape), ""),
            len(found),
            sum(map(is_right, found)),
            tuple(sorted({clause for each in found if not is_right(each) for clause in each.failed})),
        )
        for (shape, kind), found in by_client.items()
    )


def read() -> list[Rate]:
    """The rates as they were measured last."""
    return msgspec.json.decode(FILE.read_bytes(), type=list[Rate]) if FILE.exists() else []


def write(rates: list[Rate]) -> None:
    """Keep the rates."""
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(rates), indent=1) + b"\n")


def table(rates: list[Rate]) -> Table:
    """A line a client: what names its bug, and in how many runs the kit was right."""
    drawn = Table(title="certify: verdicts that are right")
    for column in ("kind", "shape", "clause", "right"):
        drawn.add_column(column)
    drawn.add_column("what failed instead", overflow="fold")
    for each in rates:
        style = "" if each.found == each.runs else "bold red"
        shown = f"{each.found} of {each.runs}"
        kind = each.kind or "right client"
        drawn.add_row(kind, each.shape, each.clause, shown, ", ".join(each.instead), style=style)
    return drawn
