"""Pipeline stage: mark rows that arrived before. Its state is a bounded window of the tables themselves.

An index in the driver keeps the cost of a batch constant. It holds 64-bit hashes of the identities in the
window, 12 bytes for each, and is rebuilt from the tables when a run begins. It shows for most rows that they
are not duplicates, without reading a table. For the other rows it names the files to read, and those decide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sandbox.pipeline.reports.database import connect
from sandbox.pipeline.storage.table_log import File
from sandbox.pipeline.storage.table_store import Tables

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

KEY = ["stream", "identity"]
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

    def read(self, batches: set[int], keys: np.ndarray[Any, Any]) -> pa.Table:
        """Read the ``KEY`` of the rows of some batches whose hashes are among ``keys``."""
        import numpy as np
        import pyarrow as pa
        from pyarrow import parquet

        place, found = self.tables.place, [pa.table({name: pa.array([], pa.string()) for name in KEY})]
        for path in self._paths_of(batches):
            with parquet.ParquetFile(place.path(path), filesystem=place.filesystem) as stored:
                rows = stored.read(columns=[*KEY, "batch"]).combine_chunks()
            hashes = hash_identities(*(rows[name].combine_chunks() for name in KEY))
            mask = np.isin(hashes, keys) & np.isin(rows["batch"].to_numpy(), [*batches])
            found.append(rows.select(KEY).filter(pa.array(mask)))
        return pa.concat_tables(found)

    def _paths_of(self, batches: set[int]) -> list[str]:
        return [file.path for table in IDENTIFIED for file in self.tables.files(table)
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


def mark_duplicates(rows: pa.Table, earlier: pa.Table) -> pa.Array:
    """Say of each row whether it is a duplicate: any but the first arrival of an identity on its stream.

    ``earlier`` holds the ``KEY`` of earlier batches within the deduplication window. A valid message and an
    invalid one with the same messageId have different identities: a damaged copy must not hide the valid one.
    """
    import pyarrow as pa

    with connect() as database:
        database.register("rows", rows.append_column("place", pa.array(range(rows.num_rows))))
        database.register("seen", earlier)
        found = database.sql(_MARKED).to_arrow_table()
    return found["duplicate"].combine_chunks()


# Sequence numbers are decimal texts of different lengths: the length must be compared first.
_MARKED = """
    SELECT row_number() OVER (
               PARTITION BY stream, identity
               ORDER BY arrived NULLS FIRST, shard, length(sequence_number), sequence_number
           ) > 1 OR known IS NOT NULL AS duplicate
    FROM rows LEFT JOIN (SELECT DISTINCT stream, identity, true AS known FROM seen) USING (stream, identity)
    ORDER BY place
"""


def mark_batch(rows: pa.Table, past: Identities) -> pa.Table:
    """Add the column ``duplicate`` to the rows of a batch.

    Only rows with a suspect key are looked at again, which are few.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    arrived = pc.min(rows["arrived"]).as_py()
    suspects, batches = past.suspects(rows["key"].to_numpy(), arrived.timestamp() if arrived else 0.0)
    duplicate = np.zeros(rows.num_rows, bool)
    if len(suspects):
        suspect = pc.is_in(rows["key"], pa.array(suspects)).combine_chunks().to_numpy(zero_copy_only=False)
        some = rows.filter(pa.array(suspect))
        duplicate[suspect] = mark_duplicates(some, past.read(batches, suspects)).to_numpy(
            zero_copy_only=False
        )
    return rows.append_column("duplicate", pa.array(duplicate))
