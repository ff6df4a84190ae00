"""The output of commands on standard output: JSON for programs, tables for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar
from unicodedata import east_asian_width

import click

from rdss_sandbox.text.visible_text import visible
from sandbox.visible_output import has_colour, styled_stream

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)


def always_json(command: F) -> F:
    """Add the option ``--json`` to a command that prints nothing else, so that scripts may say it to all."""
    return click.option("--json", is_flag=True, expose_value=False, help="It always prints JSON.")(command)


def print_json(value: Any) -> None:
    import msgspec

    click.echo(visible(msgspec.json.encode(value).decode()).encode())


def print_styled(line: str, **style: Any) -> None:
    """Print a line in a style, where there are styles."""
    stream, text = styled_stream(sys.stdout), visible(line)
    click.echo(click.style(text, **style) if has_colour(stream) else text, file=stream)


def print_table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; columns of numbers are right-aligned."""
    cells = [list(row) for row in rows]
    columns = [[row[place] for row in cells] for place in range(len(titles))]
    numeric = [all(isinstance(cell, int | float) for cell in column) for column in columns]
    texts = [["-" if cell is None else visible(str(cell)) for cell in row] for row in cells]
    widths = [max(map(_width, column)) for column in zip(titles, *texts, strict=True)]

    def draw(row: Sequence[str]) -> str:
        spaces = [" " * (width - _width(text)) for text, width in zip(row, widths, strict=True)]
        drawn = [
            space + text if right else text + space
            for text, space, right in zip(row, spaces, numeric, strict=True)
        ]
        return "  ".join(drawn).rstrip()

    print_styled(draw(titles), bold=True)
    for row in texts:
        click.echo(draw(row))


def print_line(found: Any, line: str, *, as_json: bool) -> None:
    """Print what was found as JSON, or as a line for people."""
    if as_json:
        print_json(found)
    else:
        click.echo(line)


def print_rows(found: Any, titles: Sequence[str], rows: Iterable[Sequence[object]], *, as_json: bool) -> None:
    """Print what was found as JSON, or as a table for people."""
    if as_json:
        print_json(found)
    else:
        print_table(titles, rows)


def _width(text: str) -> int:
    """The columns of a terminal that a text takes."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
