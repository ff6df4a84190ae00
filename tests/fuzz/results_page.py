"""The table of a run, as this folder's page has it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, NamedTuple

from tests.fuzz.fuzzed_parser import NAMES, load_parser

PAGE: Final = Path(__file__).with_name("README.md")
_BEGIN: Final = "<!-- made by python -m tests.fuzz --page -->\n"
_END: Final = "<!-- end -->\n"
_HEAD: Final = (
    "| parser | what reaches it | inputs | edges | slowest, ms | peak, MiB |\n|---|---|---:|---:|---:|---:|\n"
)


class Outcome(NamedTuple):
    """What a run of one parser did. ``slowest`` is in seconds of processor time, ``peak`` as the system says.

    ``covered`` counts the edges that were reached, where the run was guided by them.
    """

    name: str
    covered: int | None
    inputs: int
    slowest: float
    peak: int
    fault: str

    @property
    def mebibytes(self) -> int:
        return self.peak >> (20 if sys.platform == "darwin" else 10)

    @property
    def line(self) -> str:
        guided = "unguided" if self.covered is None else f"{self.covered} edges"
        cost = f"slowest {self.slowest * 1000:.0f} ms, {self.mebibytes} MiB"
        return f"{self.name}: {self.inputs:,} inputs, {guided}, {cost}{', FAULT' if self.fault else ''}"


def write_page(outcomes: list[Outcome]) -> None:
    """Renew the rows of these parsers in the page's table; the others' stay."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    table, _, after = rest.partition(_END)
    rows = {name: row for row in table.splitlines()[2:] for name in [row.split("`")[1]]}
    for each in outcomes:
        cost = f"{each.slowest * 1000:.0f} | {each.mebibytes}"
        rows[each.name] = (
            f"| `{each.name}` | {load_parser(each.name).of} | {each.inputs:,} "
            f"| {each.covered or 'unguided'} | {cost} |"
        )
    lines = [rows[name] for name in NAMES if name in rows]
    written = "".join(f"{line}\n" for line in lines)
    PAGE.write_text(f"{before}{_BEGIN}{_HEAD}{written}{_END}{after}", encoding="utf-8")
