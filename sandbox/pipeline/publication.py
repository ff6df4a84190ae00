"""Publishes the table ``objects``: the previous rows, updated by the changes since then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.pipeline import objects
from sandbox.pipeline.files import Attempt, write
from sandbox.pipeline.tables import Publication, Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def publish(spark: SparkSession, tables: Tables, token: str) -> None:
    """Bring ``objects`` up to the last commit; do nothing when it is up to date."""
    if not tables.commits or tables.commits[-1].batch <= tables.published.batch:
        return
    batch, after = tables.commits[-1].batch, tables.published.batch
    attempt = Attempt(tables.place, batch, token)
    state = objects.merge_objects(tables.read(spark, "objects"), read_changes(spark, tables, after))
    tables.publish(Publication(batch, tuple(write(state, "objects", attempt))))


def read_changes(spark: SparkSession, tables: Tables, after: int = -1) -> DataFrame:
    """The changes of objects in batches behind ``after``, from messages and joined sequences."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    whole = tables.read(spark, "messages", after=after)
    joined = tables.read(spark, "sequences", after=after).filter(F.col("status") == "joined")
    return whole.select(*objects.CHANGE).unionByName(
        joined.withColumnRenamed("last_arrived", "arrived").select(*objects.CHANGE)
    )
