"""The tables that are published whole: objects and figures, brought forward by what is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.pipeline import figures, objects
from sandbox.pipeline.files import Attempt, write
from sandbox.pipeline.tables import Publication, Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def publish(spark: SparkSession, tables: Tables, token: str) -> None:
    """Bring ``objects`` and ``figures`` up to the last commit; nothing to do when they are."""
    if not tables.commits or tables.commits[-1].batch <= tables.published.batch:
        return
    batch, after = tables.commits[-1].batch, tables.published.batch
    attempt = Attempt(tables.place, batch, token)
    state = objects.current(tables.read(spark, "objects"), changes(spark, tables, after))
    new = {outcome: tables.read(spark, outcome, after=after) for outcome in figures.OUTCOMES}
    sums = figures.added(tables.read(spark, "figures"), figures.counted(new))
    files = [*write(state, "objects", attempt), *write(sums, "figures", attempt)]
    tables.publish(Publication(batch, tuple(files)))


def changes(spark: SparkSession, tables: Tables, after: int = -1) -> DataFrame:
    """What happened to objects, in whole messages and in joined ones, since a batch."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - heavy

    whole = tables.read(spark, "messages", after=after)
    joined = tables.read(spark, "sequences", after=after).filter(F.col("status") == "joined")
    return whole.select(*objects.CHANGE).unionByName(
        joined.withColumnRenamed("last_arrived", "arrived").select(*objects.CHANGE)
    )
