"""The table that is published whole: objects, brought forward by what is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.pipeline import objects
from sandbox.pipeline.files import Attempt, write
from sandbox.pipeline.tables import Publication, Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def publish(spark: SparkSession, tables: Tables, token: str) -> None:
    """Bring ``objects`` up to the last commit; nothing to do when it is."""
    if not tables.commits or tables.commits[-1].batch <= tables.published.batch:
        return
    batch, after = tables.commits[-1].batch, tables.published.batch
    attempt = Attempt(tables.place, batch, token)
    state = objects.current(tables.read(spark, "objects"), changes(spark, tables, after))
    tables.publish(Publication(batch, tuple(write(state, "objects", attempt))))


def changes(spark: SparkSession, tables: Tables, after: int = -1) -> DataFrame:
    """What happened to objects, in whole messages and in joined ones, since a batch."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    whole = tables.read(spark, "messages", after=after)
    joined = tables.read(spark, "sequences", after=after).filter(F.col("status") == "joined")
    return whole.select(*objects.CHANGE).unionByName(
        joined.withColumnRenamed("last_arrived", "arrived").select(*objects.CHANGE)
    )
