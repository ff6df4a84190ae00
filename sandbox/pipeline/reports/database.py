"""The tables as DuckDB sees them: SQL in a second, without Java."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sandbox.pipeline.storage.table_store import Tables

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


def connect() -> DuckDBPyConnection:
    """Open an empty database in memory; times are shown in UTC."""
    import duckdb

    return duckdb.connect(
        config={
            "autoinstall_known_extensions": False,  # they would be fetched from elsewhere
            "python_enable_replacements": False,  # a name that is no table is none of our variables either
            "TimeZone": "UTC",
        }
    )


def open_database(tables: Tables) -> DuckDBPyConnection:
    """Open a database with a view of each table.

    A view stays at the version of its table that was there when the database was opened.
    """
    database = connect()
    for name in tables.present:
        database.register(name, tables.log(name).delta.to_pyarrow_dataset())
    return database


def fetch_rows(found: DuckDBPyRelation) -> list[dict[str, Any]]:
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
