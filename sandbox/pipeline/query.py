"""SQL over the tables, for the curious."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sandbox.pipeline.failures import UsageError
from sandbox.pipeline.tables import COLUMNS, Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHOWN_BYTES = 120


def ask(spark: SparkSession, tables: Tables, sql: str, limit: int) -> tuple[list[str], list[list[Any]]]:
    """Column names and at most ``limit`` rows. UsageError says what Spark makes of a wrong statement.

    Times are RFC 3339; bytes are shown as text, the first 120 of them.
    """
    from pyspark.errors import AnalysisException, ParseException

    for table in COLUMNS:
        tables.read(spark, table).createOrReplaceTempView(table)
    try:
        found = spark.sql(sql)
        rows = found.limit(limit).collect()
    except (AnalysisException, ParseException) as wrong:
        raise UsageError(str(wrong).strip().splitlines()[0]) from None
    return found.columns, [[_shown(value) for value in row] for row in rows]


def _shown(value: Any) -> Any:
    from datetime import datetime

    if isinstance(value, bytearray | bytes):
        return bytes(value[:_SHOWN_BYTES]).decode(errors="replace")
    if isinstance(value, datetime):
        return value.astimezone().isoformat(timespec="milliseconds")
    return value
