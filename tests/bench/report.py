"""Benchmark rows for people (tables, results.md) and for programs (results.json), area by area.

An area's figures stay as they were measured until it is measured again, so each says when that was.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from emulator.clock import Clock
from tests.bench.rows import LIMITS, US, Row, ratio

FOLDER = Path(__file__).parent
_HEAD = """# Benchmark

{machine}. `make bench` makes this file, and `make bench ARGS="--area NAME"` renews an area of it.

An area's subjects were measured in one run, alone, one after another, over loopback, by the same
client; each peer was installed by itself. In brackets: how many times better we are. A limit that
nobody passes says how much of it we reach: `nothing` is a server that only answers, others are the
disk's own write, a bare reader, or no relay between. Our records are on disk and survive `kill -9`;
other emulators keep them in memory.
"""


class Entry(msgspec.Struct, frozen=True):
    """A row as it is kept; ``date`` is the day on which its area was measured, ``ratio`` as in ``rows``."""

    area: str
    date: str
    measure: str
    subject: str
    value: float
    unit: str
    ratio: float | None


def show(area: str, rows: list[Row]) -> None:
    """The table on standard error: a line a measure, a column a subject, our advantage in brackets."""
    entries = _entries(area, rows)
    table = Table(
        title=f"{area}: measured in turn, in one run; (n x) is our advantage, (n of it) how near a limit"
    )
    table.add_column("measure")
    for subject in _subjects(entries):
        table.add_column(subject, justify="right")
    for measure, unit in _measures(entries):
        table.add_row(f"{measure}, {unit}", *_cells(entries, measure))
    Console(stderr=True).print(table)


def write(area: str, rows: list[Row]) -> None:
    """Renew the area in ``results.md`` and ``results.json`` beside this file; the others stay as they are."""
    kept = [entry for entry in _known() if entry.area != area]
    entries = sorted([*kept, *_entries(area, rows)], key=lambda entry: entry.area)
    FOLDER.joinpath("results.json").write_bytes(
        msgspec.json.format(msgspec.json.encode(entries), indent=1) + b"\n"
    )
    FOLDER.joinpath("results.md").write_text(_markdown(entries))


def _known() -> list[Entry]:
    path = FOLDER / "results.json"
    return msgspec.json.decode(path.read_bytes(), type=list[Entry]) if path.exists() else []


def _entries(area: str, rows: list[Row]) -> list[Entry]:
    today = f"{Clock().now():%Y-%m-%d}"
    return [
        Entry(area, today, row.measure, row.subject, row.value, row.unit, ratio(row, rows)) for row in rows
    ]


def _markdown(entries: list[Entry]) -> str:
    areas = dict.fromkeys(entry.area for entry in entries)
    sections = (_section(area, [entry for entry in entries if entry.area == area]) for area in areas)
    return "\n".join([_HEAD.format(machine=_machine()), *sections])


def _section(area: str, entries: list[Entry]) -> str:
    subjects = _subjects(entries)
    lines = [
        f"## {area}",
        "",
        f"{entries[0].date}.",
        "",
        f"| | {' | '.join(subjects)} |",
        f"|---|{'---:|' * len(subjects)}",
    ]
    lines += [
        f"| {measure}, {unit} | {' | '.join(_cells(entries, measure))} |"
        for measure, unit in _measures(entries)
    ]
    return "\n".join(lines) + "\n"


def _subjects(entries: Iterable[Entry]) -> list[str]:
    """Ours first."""
    found = dict.fromkeys(entry.subject for entry in entries)
    return sorted(found, key=lambda subject: subject != US)


def _measures(entries: Iterable[Entry]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((entry.measure, entry.unit) for entry in entries))


def _cells(entries: list[Entry], measure: str) -> list[str]:
    found = {entry.subject: entry for entry in entries if entry.measure == measure}
    return [_cell(found.get(subject)) for subject in _subjects(entries)]


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return "-"
    value = f"{entry.value:,.0f}" if abs(entry.value) >= 100 else f"{entry.value:.3g}"
    if entry.ratio is None or entry.subject == US:
        return value
    times = f"{entry.ratio:.2g}" if entry.ratio < 100 else f"{entry.ratio:,.0f}"
    return f"{value} ({times} of it)" if entry.subject in LIMITS else f"{value} ({times} x)"


def _machine() -> str:
    python = platform.python_version()
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {python}"
