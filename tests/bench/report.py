"""Benchmark rows for people (a table, results.md) and for programs (results.json)."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from emulator.clock import Clock
from tests.bench.rows import US, Row, ratio

FOLDER = Path(__file__).parent


def show(rows: list[Row]) -> None:
    """The table on standard error: a line a measure, a column a subject, our advantage in brackets."""
    table = Table(title="measured in turn, in one run; (n x) is how many times better we are")
    table.add_column("measure")
    for subject in _subjects(rows):
        table.add_column(subject, justify="right")
    for measure, unit in _measures(rows):
        table.add_row(f"{measure}, {unit}", *_cells(rows, measure))
    Console(stderr=True).print(table)


def write(rows: list[Row]) -> None:
    """``results.md`` and ``results.json`` beside this file."""
    entries = [
        {
            "measure": r.measure,
            "subject": r.subject,
            "value": r.value,
            "unit": r.unit,
            "ratio": ratio(r, rows),
        }
        for r in rows
    ]
    FOLDER.joinpath("results.json").write_bytes(
        msgspec.json.format(msgspec.json.encode(entries), indent=1) + b"\n"
    )
    FOLDER.joinpath("results.md").write_text(_markdown(rows))


def _markdown(rows: list[Row]) -> str:
    subjects = _subjects(rows)
    lines = [
        "# Benchmark",
        "",
        f"{Clock().now():%Y-%m-%d}, {_machine()}. `make bench` makes this file.",
        "",
        "Every subject was installed by itself and measured alone, one after another, over loopback, by",
        "the same client. Its cost is the column `nothing`: a server that only answers. In brackets: how",
        "many times better we are. Our records are on disk and survive `kill -9`; the others keep them in",
        "memory.",
        "",
        f"| | {' | '.join(subjects)} |",
        f"|---|{'---:|' * len(subjects)}",
    ]
    for measure, unit in _measures(rows):
        lines.append(f"| {measure}, {unit} | {' | '.join(_cells(rows, measure))} |")
    return "\n".join(lines) + "\n"


def _subjects(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row.subject for row in rows))


def _measures(rows: list[Row]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row.measure, row.unit) for row in rows))


def _cells(rows: list[Row], measure: str) -> list[str]:
    found = {row.subject: row for row in rows if row.measure == measure}
    return [_cell(found.get(subject), rows) for subject in _subjects(rows)]


def _cell(row: Row | None, rows: list[Row]) -> str:
    if row is None:
        return "-"
    value = f"{row.value:,.0f}" if row.value >= 100 else f"{row.value:.3g}"
    times = ratio(row, rows)
    if times is None or row.subject in (US, "nothing"):
        return value
    return f"{value} ({times:.2g} x)" if times < 100 else f"{value} ({times:,.0f} x)"


def _machine() -> str:
    python = platform.python_version()
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {python}"
