"""The prompt of ``sandbox pipeline query`` without SQL."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from sandbox.pipeline.spark.failures import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from sandbox.pipeline.storage.table_store import Tables


def answer_statements(
    tables: Tables, ask: Callable[[str], pa.Table], show: Callable[[pa.Table], None]
) -> None:
    """Answer statements from standard input until its end, each ended by a semicolon or an empty line.

    A statement that is wrong is told in one line, and the prompt goes on.
    """
    person, rows, lines = sys.stdin.isatty(), tables.rows(), list[str]()
    if person:
        import readline  # noqa: F401 -- gives input() its history and its keys

        width = max(map(len, rows))
        for name, count in rows.items():
            click.echo(f"{name:<{width}}  {count:>12,}  {tables.schema[name].row}")
        click.echo("end a statement with ; and the prompt with Ctrl-D; DESCRIBE messages lists columns")
    while (line := _next_line("sql> " if not lines else "...> ", person=person)) is not None:
        lines.append(line)
        if not line.strip() or line.rstrip().endswith(";"):
            _answer("\n".join(lines), ask, show)
            lines.clear()
    _answer("\n".join(lines), ask, show)


def _answer(text: str, ask: Callable[[str], pa.Table], show: Callable[[pa.Table], None]) -> None:
    if not (statement := text.strip().rstrip(";")):
        return
    try:
        show(ask(statement))
    except UsageError as wrong:
        click.echo(f"sandbox: {wrong}", err=True)


def _next_line(prompt: str, *, person: bool) -> str | None:
    if not person:
        return line.rstrip("\n") if (line := sys.stdin.readline()) else None
    try:
        return input(prompt)
    except (EOFError, KeyboardInterrupt):
        click.echo()
        return None
