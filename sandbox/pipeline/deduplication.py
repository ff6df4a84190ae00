"""Stage: which rows were there before. Its state is a bounded window of the tables themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sandbox.pipeline.identities import Identities
from sandbox.pipeline.tables import read_files

if TYPE_CHECKING:
    import numpy as np
    from pyspark.sql import DataFrame

KEY = ["stream", "identity"]
ROW = ["part", "day", "row"]
"""Where a row of a batch is kept: its partition, its day, its place in the file of the two."""


def marked(rows: DataFrame, seen: DataFrame) -> DataFrame:
    """``rows`` with ``duplicate``: true for all but the first arrival of an identity on its stream.

    ``seen`` holds the ``KEY`` of earlier batches, as far back as duplicates are looked for. A good message
    and a bad one with the same messageId are two identities: a damaged copy must not hide the whole one.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - as above

    # Sequence numbers are decimal texts of different lengths.
    arrival = ("arrived", "shard", F.length("sequence_number"), "sequence_number")
    place = F.row_number().over(Window.partitionBy(*KEY).orderBy(*arrival))
    # The batch is small and the past is large: the batch's keys go to the past, not the past through a
    # shuffle.
    known = seen.join(F.broadcast(rows.select(*KEY).distinct()), KEY, "left_semi").distinct()
    again = F.broadcast(known.withColumn("known", F.lit(True)))
    return (
        rows.withColumn("place", place)
        .join(again, KEY, "left")
        .withColumn("duplicate", (F.col("place") > 1) | F.col("known").isNotNull())
        .drop("place", "known")
    )


def marked_among(rows: DataFrame, suspects: DataFrame, seen: DataFrame) -> DataFrame:
    """``marked`` where only rows whose ``key`` is among the ``suspects`` can be duplicates at all.

    The others, which are nearly all, are neither sorted nor moved.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    some = rows.join(F.broadcast(suspects), "key", "left_semi")
    again = marked(some, seen).filter("duplicate").select(*ROW, F.lit(True).alias("again"))
    return (
        rows.join(F.broadcast(again), ROW, "left")
        .withColumn("duplicate", F.col("again").isNotNull())
        .drop("again")
    )


def marked_in(rows: DataFrame, keys: np.ndarray[Any, Any], first: float, past: Identities) -> DataFrame:
    """``marked_among`` for the rows of a batch: ``keys`` are theirs, ``first`` is the earliest arrival."""
    import pyarrow as pa
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    suspects, files = past.suspects(keys, first)
    if not len(suspects):
        return rows.withColumn("duplicate", F.lit(False))
    spark = rows.sparkSession
    listed = spark.createDataFrame(pa.table({"key": suspects}))
    paths = [file.path for file in files]
    seen = read_files(spark, past.tables.place, "stream STRING, identity STRING", paths)
    return marked_among(rows, listed, seen).persist()
