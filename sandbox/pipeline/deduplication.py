"""Pipeline stage: mark rows that arrived before. Its state is a bounded window of the tables themselves.

An index in the driver keeps the cost of a batch constant. It holds 64-bit hashes of the identities in the
window, 12 bytes for each, and is rebuilt from the tables when a run begins. It shows for most rows that they
are not duplicates, without reading a table. For the other rows it names the files to read, and those decide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sandbox.pipeline.table_log import File
from sandbox.pipeline.tables import Tables, read_files

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import DataFrame

KEY = ["stream", "identity"]
ROW = ["part", "row"]
"""The key of a row of a batch: its partition, and its index in the partition's file."""

IDENTIFIED = ("messages", "parts", "rejects", "queued")
"""The tables whose rows count as first arrivals."""


def hash_identities(streams: pa.Array, identities: pa.Array) -> np.ndarray[Any, Any]:
    """Hash each pair to an int64 that is the same in every process."""
    import numpy as np
    import pandas as pd
    import pyarrow.compute as pc

    pairs = pc.binary_join_element_wise(streams.cast("string"), identities.cast("string"), "\n")
    hashes: np.ndarray[Any, Any] = pd.util.hash_array(pairs.to_numpy(zero_copy_only=False), categorize=False)
    return hashes.view(np.int64)


@dataclass
class Identities:
    """The identities of the last ``window`` seconds of arrival time."""

    tables: Tables
    window: float
    _lasts: dict[int, float] = field(default_factory=dict)
    _loaded: int = -1

    def __post_init__(self) -> None:
        import numpy as np

        self._keys: np.ndarray[Any, Any] = np.empty(0, np.int64)
        self._batches: np.ndarray[Any, Any] = np.empty(0, np.int32)

    def __len__(self) -> int:
        return len(self._keys)

    def suspects(self, found: np.ndarray[Any, Any], first: float) -> tuple[np.ndarray[Any, Any], set[int]]:
        """Keys of a batch that occur twice or occurred before, and the batches of the earlier rows.

        ``first`` is the first arrival of the batch in seconds since the epoch.
        """
        import numpy as np

        self._load(first - self.window)
        here, counts = np.unique(found, return_counts=True)
        lows, highs = np.searchsorted(self._keys, here, "left"), np.searchsorted(self._keys, here, "right")
        before = highs > lows
        batches = {int(b) for low, high in zip(lows[before], highs[before], strict=True)
                   for b in self._batches[low:high]}  # fmt: skip
        return here[before | (counts > 1)], batches

    def files_of(self, batches: set[int]) -> list[File]:
        """The files that hold identities of these batches, and maybe of others."""
        return [file for table in IDENTIFIED for file in self.tables.files(table)
                if any(file.batches[0] <= batch <= file.batches[1] for batch in batches)]  # fmt: skip

    def _load(self, since: float) -> None:
        """Add new batches, and remove batches that have left the window."""
        import numpy as np

        micros, last = since * 1_000_000, self.tables.last_batch
        new = [file for table in IDENTIFIED for file in self.tables.files(table, after=self._loaded)
               if file.last is not None and file.last >= micros]  # fmt: skip
        for file in new:
            self._add(file)
        self._loaded = max(last, self._loaded)
        gone = [batch for batch, last in self._lasts.items() if last < micros]
        if gone:
            kept = ~np.isin(self._batches, gone)
            self._keys, self._batches = self._keys[kept], self._batches[kept]
            for batch in gone:
                del self._lasts[batch]

    def _add(self, file: File) -> None:
        import numpy as np
        from pyarrow import compute as pc
        from pyarrow import parquet

        place = self.tables.place
        with parquet.ParquetFile(place.path(file.path), filesystem=place.filesystem) as stored:
            rows = stored.read(columns=["stream", "identity", "batch", "arrived"])
        # A file that was compacted has rows of batches that are in the index already.
        rows = rows.filter(pc.greater(rows["batch"], self._loaded)).combine_chunks()
        if not rows.num_rows:
            return
        keys = hash_identities(*(rows[name].combine_chunks() for name in KEY))
        order = np.argsort(keys)
        at = np.searchsorted(self._keys, keys[order])
        self._keys = np.insert(self._keys, at, keys[order])
        self._batches = np.insert(self._batches, at, rows["batch"].to_numpy()[order].astype(np.int32))
        for row in rows.group_by("batch").aggregate([("arrived", "max")]).to_pylist():
            last = row["arrived_max"].timestamp() * 1_000_000 if row["arrived_max"] else 0.0
            self._lasts[row["batch"]] = max(last, self._lasts.get(row["batch"], last))


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

    suspects, batches = past.suspects(keys, first)
    if not len(suspects):
        return rows.withColumn("duplicate", F.lit(False))
    spark = rows.sparkSession
    listed = spark.createDataFrame(pa.table({"key": suspects}))
    paths = [file.path for file in past.files_of(batches)]
    seen = read_files(spark, past.tables.place, "stream STRING, identity STRING, batch BIGINT", paths)
    seen = seen.filter(F.col("batch").isin(*batches)).select(*KEY)
    return mark_among(rows, listed, seen).persist()
