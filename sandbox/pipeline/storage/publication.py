"""Publishes the table ``objects``: the previous rows, updated by the changes since then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.pipeline.stages import objects
from sandbox.pipeline.storage.files import Attempt, write
from sandbox.pipeline.storage.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def publish(spark: SparkSession, tables: Tables, token: str) -> None:
    """Bring ``objects`` up to the last batch; do nothing when it is up to date, or messages have none."""
    batch, after = tables.last_batch, tables.published
    if batch <= after or "object_uuid" not in tables.schema["messages"].names:
        return
    attempt = Attempt(tables.place, batch, token, tables.schema)
    state = objects.merge_objects(tables.read(spark, "objects"), read_changes(spark, tables, after))
    tables.publish(write(state, "objects", attempt), batch)


def read_changes(spark: SparkSession, tables: Tables, after: int = -1) -> DataFrame:
    """The changes of objects in batches behind ``after``, from messages and joined sequences."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    whole = tables.read(spark, "messages", after=after)
    joined = tables.read(spark, "sequences", after=after).filter(F.col("status") == "joined")
    return whole.select(*objects.CHANGE).unionByName(
        joined.withColumnRenamed("last_arrived", "arrived").select(*objects.CHANGE)
    )
