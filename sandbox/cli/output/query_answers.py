"""Answers of ``sandbox pipeline query``: rows of an Arrow table as a table, CSV, JSON lines or Parquet."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import print_json, print_table

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("table", "csv", "json", "parquet")
_SHOWN_BYTES = 120


def print_answer(found: pa.Table, form: str) -> None:
    """Print rows in one of ``FORMATS``. Raises CommandFailedError for Parquet on a terminal.

    Times are RFC 3339 in UTC. Bytes are shown as text, of which a table has the first 120 and lists have
    commas.
    """
    if form == "parquet":
        _print_parquet(found)
    elif form == "json":
        for row in _rows(found):
            print_json(dict(zip(found.column_names, row, strict=True)))
    elif form == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(found.column_names)
        writer.writerows([_joined(value) for value in row] for row in _rows(found))
        click.echo(text.getvalue().encode(), nl=False)
    else:
        print_table(found.column_names, [[_cut(value) for value in row] for row in _rows(found)])


def _print_parquet(found: pa.Table) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    if sys.stdout.isatty():
        raise CommandFailedError("Parquet is not for a terminal: send it to a file with > FILE", Exit.USAGE)
    buffer = pa.BufferOutputStream()
    parquet.write_table(found, buffer)
    sys.stdout.buffer.write(buffer.getvalue())
    sys.stdout.buffer.flush()


def _rows(found: pa.Table) -> Iterator[list[Any]]:
    for batch in found.to_batches():
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            yield [_spell(value) for value in row]


def _spell(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list):
        return [_spell(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _spell(item) for key, item in value.items()}
    return value if isinstance(value, str | int | float | None) else _named(value)


def _named(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _joined(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, list) else value


def _cut(value: Any) -> Any:
    text = _joined(value)
    return text[:_SHOWN_BYTES] if isinstance(text, str) else text
