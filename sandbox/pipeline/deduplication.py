"""Pipeline stage: mark rows that arrived before. Its state is a bounded window of the tables themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sandbox.pipeline.identities import Identities
from sandbox.pipeline.tables import read_files

if TYPE_CHECKING:
    import numpy as np
    from pyspark.sql import DataFrame

KEY = ["stream", "identity"]
ROW = ["part", "day", "row"]
"""The key of a row of a batch: its partition, its day, and its index in the file of the two."""


def mark_duplicates(rows: DataFrame, seen: DataFrame) -> DataFrame:
    """Add the column ``duplicate``: true for all but the first arrival of an identity on its stream.

    ``seen`` holds the ``KEY`` of earlier batches within the deduplication window. A valid message and an
    invalid one with the same messageId have different identities: a damaged copy must not hide the valid one.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - as above

    # Sequence numbers are decimal texts of different lengths: the length must be compared first.
    arrival = ("arrived", "shard", F.length("sequence_number"), "sequence_number")
    place = F.row_number().over(Window.partitionBy(*KEY).orderBy(*arrival))
    # The batch is small and the past is large: broadcasting the keys of the batch avoids a shuffle of the
    # past.
    known = seen.join(F.broadcast(rows.select(*KEY).distinct()), KEY, "left_semi").distinct()
    again = F.broadcast(known.withColumn("known", F.lit(True)))
    return (
        rows.withColumn("place", place)
        .join(again, KEY, "left")
        .withColumn("duplicate", (F.col("place") > 1) | F.col("known").isNotNull())
        .drop("place", "known")
    )


def mark_among(rows: DataFrame, suspects: DataFrame, seen: DataFrame) -> DataFrame:
    """Mark duplicates if only rows whose ``key`` is in ``suspects`` can be duplicates.

    All other rows, which are nearly all, are neither sorted nor shuffled.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    some = rows.join(F.broadcast(suspects), "key", "left_semi")
    again = mark_duplicates(some, seen).filter("duplicate").select(*ROW, F.lit(True).alias("again"))
    return (
        rows.join(F.broadcast(again), ROW, "left")
        .withColumn("duplicate", F.col("again").isNotNull())
        .drop("again")
    )


def mark_batch(rows: DataFrame, keys: np.ndarray[Any, Any], first: float, past: Identities) -> DataFrame:
    """Mark the duplicates of a batch; ``keys`` are those of its rows, ``first`` is the earliest arrival."""
    import pyarrow as pa
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    suspects, files = past.suspects(keys, first)
    if not len(suspects):
        return rows.withColumn("duplicate", F.lit(False))
    spark = rows.sparkSession
    listed = spark.createDataFrame(pa.table({"key": suspects}))
    paths = [file.path for file in files]
    seen = read_files(spark, past.tables.place, "stream STRING, identity STRING", paths)
    return mark_among(rows, listed, seen).persist()
