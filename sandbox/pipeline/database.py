"""The tables as DuckDB sees them: SQL in a second, without Java."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sandbox.pipeline.schema import TABLES
from sandbox.pipeline.tables import Tables

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


def open_database(tables: Tables) -> DuckDBPyConnection:
    """Open a database in memory with a view of each table as it is now; times are shown in UTC.

    A view stays at the version of its table that was there when it was made.
    """
    import duckdb

    # What is not part of DuckDB itself would be fetched from elsewhere.
    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "python_enable_replacements": False,  # a name that is no table is none of our variables either
        "TimeZone": "UTC",
    }
    database = duckdb.connect(config=settings)
    for name in TABLES:
        database.register(name, tables.log(name).delta.to_pyarrow_dataset())
    return database


def fetch_rows(found: DuckDBPyRelation) -> list[dict[str, Any]]:
    """Fetch all rows, each as a dictionary."""
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
