"""SQL over the tables: with DuckDB, or with Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.pipeline.reports.database import open_database
from sandbox.pipeline.spark.failures import UsageError
from sandbox.pipeline.storage.table_store import Tables

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession


def ask(tables: Tables, sql: str, limit: int | None = None) -> pa.Table:
    """Run a statement with DuckDB; return at most ``limit`` rows.

    Raises UsageError with DuckDB's message for a wrong statement.
    """
    with open_database(tables) as database:
        return ask_database(database, sql, limit)


def ask_database(database: DuckDBPyConnection, sql: str, limit: int | None = None) -> pa.Table:
    """Run a statement on a database that is open, as ``ask`` does."""
    import duckdb
    import pyarrow as pa

    try:
        found = database.sql(sql)
        if found is None:  # a statement that gives no rows
            return pa.table({})
        return (found if limit is None else found.limit(limit)).to_arrow_table()
    except duckdb.Error as wrong:
        raise UsageError(str(wrong).strip().splitlines()[0]) from None


def ask_spark(spark: SparkSession, tables: Tables, sql: str, limit: int | None = None) -> pa.Table:
    """Run a statement with Spark; return at most ``limit`` rows.

    Raises UsageError with Spark's message for a wrong statement.
    """
    from pyspark.errors import AnalysisException, ParseException

    for table in tables.present:
        tables.read(spark, table).createOrReplaceTempView(table)
    try:
        found = spark.sql(sql)
        return (found if limit is None else found.limit(limit)).toArrow()
    except (AnalysisException, ParseException) as wrong:
        raise UsageError(str(wrong).strip().splitlines()[0]) from None
