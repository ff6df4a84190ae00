"""How commands print: JSON for programs, tables for people, both on standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_PIPE_WIDTH = 400
_UNITS = ("B", "kB", "MB", "GB", "TB")


def json_option(command: F) -> F:
    """The option ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)


def print_json(value: Any) -> None:
    """One line of JSON."""
    import msgspec

    click.echo(msgspec.json.encode(value))


def print_table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table; columns whose values are all numbers are right-aligned."""
    from rich.console import Console
    from rich.table import Table

    cells = [list(row) for row in rows]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, title in enumerate(titles):
        numbers = all(isinstance(row[place], int | float) for row in cells)
        table.add_column(title, justify="right" if numbers else "left", overflow="fold")
    for row in cells:
        table.add_row(*("-" if cell is None else str(cell) for cell in row))
    # What is piped is not folded into a screen's width that nobody looks at.
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    Console(width=width).print(table)


def size(count: int) -> str:
    """Bytes for people: ``3.5 kB``, thousand by thousand."""
    value = float(count)
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("the last unit is for everything")
