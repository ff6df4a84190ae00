"""The output of commands on standard output: JSON for programs, tables for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_PIPE_WIDTH = 400
_UNITS = ("B", "kB", "MB", "GB", "TB")


def json_option(command: F) -> F:
    """Add the option ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)


def always_json(command: F) -> F:
    """Add the option ``--json`` to a command that prints nothing else, so that scripts may say it to all."""
    return click.option("--json", is_flag=True, expose_value=False, help="What it prints is JSON always.")(
        command
    )


def print_json(value: Any) -> None:
    """Print one line of JSON."""
    import msgspec

    click.echo(msgspec.json.encode(value))


def print_table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; columns of numbers are right-aligned."""
    from rich.console import Console
    from rich.table import Table

    cells = [list(row) for row in rows]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, title in enumerate(titles):
        numbers = all(isinstance(row[place], int | float) for row in cells)
        table.add_column(title, justify="right" if numbers else "left", overflow="fold")
    for row in cells:
        table.add_row(*("-" if cell is None else str(cell) for cell in row))
    # Piped output is not folded at the width of a screen.
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    Console(width=width).print(table)


def size(count: int) -> str:
    """Bytes in decimal units: ``3.5 kB``."""
    value = float(count)
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("the last unit is for everything")
