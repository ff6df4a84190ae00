"""SQL queries over the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sandbox.pipeline.failures import UsageError
from sandbox.pipeline.tables import COLUMNS, Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHOWN_BYTES = 120


def ask(spark: SparkSession, tables: Tables, sql: str, limit: int) -> tuple[list[str], list[list[Any]]]:
    """Run a statement; return the column names and at most ``limit`` rows.

    Times are RFC 3339. Of bytes, the first 120 are shown as text. Raises UsageError with Spark's message for
    a wrong statement.
    """
    from pyspark.errors import AnalysisException, ParseException

    for table in COLUMNS:
        tables.read(spark, table).createOrReplaceTempView(table)
    try:
        found = spark.sql(sql)
        rows = found.limit(limit).collect()
    except (AnalysisException, ParseException) as wrong:
        raise UsageError(str(wrong).strip().splitlines()[0]) from None
    return found.columns, [[_to_text(value) for value in row] for row in rows]


def _to_text(value: Any) -> Any:
    from datetime import datetime

    if isinstance(value, bytearray | bytes):
        return bytes(value[:_SHOWN_BYTES]).decode(errors="replace")
    if isinstance(value, datetime):
        return value.astimezone().isoformat(timespec="milliseconds")
    return value
