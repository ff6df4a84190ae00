"""Writing rows into the files of tables, on the executors: one file a table, date and partition."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from sandbox.pipeline.identities import keys
from sandbox.pipeline.table_storage import TableStorage
from sandbox.pipeline.tables import COLUMNS, File

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_UNIQUE = {"data", "message_id", "identity", "sequence_number"}
"""Columns whose values do not repeat, for which a dictionary would be a waste."""

WRITTEN = "table STRING, path STRING, rows BIGINT, bytes BIGINT"
"""What a writing task tells: its files."""

KEPT = (
    "part INT, day INT, row INT, key BIGINT, stream STRING, shard STRING, sequence_number STRING, "
    "arrived TIMESTAMP, identity STRING, code STRING, total INT, tenant BIGINT, published TIMESTAMP, size INT"
)
"""What goes on of a row that is kept in ``arrivals``: where it is kept, the hash of its identity, and what
decides on it."""

Batches = Iterator["pa.RecordBatch"]
_DAY = 86_400_000_000
_FILE = [column.split()[0] for column in WRITTEN.split(", ")]
NAMES = {table: [column.split()[0] for column in columns.split(", ")] for table, columns in COLUMNS.items()}


@dataclass(frozen=True)
class Attempt:
    """One try at one batch.

    ``token`` is unique to the driver, so that two tries never write the same file.
    """

    place: TableStorage
    batch: int
    token: str

    def path(self, table: str, day: str, part: int) -> str:
        """Where a partition's rows of a table and a date go, relative to the place."""
        return f"{table}/date={day}/batch={self.batch:08d}/part-{part:05d}-{self.token}.parquet"


@dataclass
class Writers:
    """The open files of one partition, ``part``."""

    attempt: Attempt
    part: int
    files: dict[str, tuple[str, Any, str]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    def add(self, table: str, day: str, rows: pa.RecordBatch) -> str:
        """Write rows to their file; its path."""
        from pyarrow import parquet

        path = self.attempt.path(table, day, self.part)
        if path not in self.files:
            place = self.attempt.place
            target = place.path(path) + ("" if place.remote else f".{os.getpid()}.new")
            place.filesystem.create_dir(target.rpartition("/")[0], recursive=True)
            repeating = [name for name in rows.schema.names if name not in _UNIQUE]
            writer = parquet.ParquetWriter(
                target,
                rows.schema,
                filesystem=place.filesystem,
                compression="zstd",
                compression_level=1,
                use_dictionary=repeating,
                write_statistics=False,
            )
            self.files[path], self.rows[path] = (table, writer, target), 0
        self.files[path][1].write_batch(rows)
        self.rows[path] += rows.num_rows
        return path

    def close(self) -> list[File]:
        """Finish every file; on a disk it gets its name only now, so that a half-written one never has it."""
        place, closed = self.attempt.place, []
        for path, (table, writer, target) in self.files.items():
            writer.close()
            if target != place.path(path):
                place.filesystem.move(target, place.path(path))
            size = place.filesystem.get_file_info(place.path(path)).size
            closed.append(File(table, path, self.rows[path], size))
        return closed


def keep_whole(attempt: Attempt) -> Callable[[Batches], Batches]:
    """For mapInArrow: write judged rows to ``arrivals``, pass on ``KEPT`` of each.

    The bytes of a message are thus handled once; everything behind works on a few dozen bytes a message.
    """

    def kept(batches: Batches) -> Batches:
        writers = Writers(attempt, partition())
        for batch in batches:
            for day, rows in _by_day(batch):
                path = attempt.path("arrivals", dated(day), writers.part)
                before = writers.rows.get(path, 0)
                writers.add("arrivals", dated(day), rows.select(NAMES["arrivals"]))
                yield _kept(rows, writers.part, day, before)
        writers.close()

    return kept


def _kept(rows: pa.RecordBatch, part: int, day: int | None, before: int) -> pa.RecordBatch:
    import numpy as np
    import pyarrow as pa

    count = rows.num_rows
    made = {
        "part": pa.array(np.full(count, part, np.int32)),
        "day": pa.array(np.full(count, day or 0, np.int32)),
        "row": pa.array(np.arange(before, before + count, dtype=np.int32)),
        "key": pa.array(keys(rows.column("stream"), rows.column("identity"))),
    }
    names = [column.split()[0] for column in KEPT.split(", ")]
    return pa.RecordBatch.from_arrays([made[n] if n in made else rows.column(n) for n in names], names=names)


def write_routed(rows: DataFrame, attempt: Attempt) -> list[File]:
    """Write each row to the table that its column ``table`` names.

    The files that came of it.
    """
    return written(rows.mapInArrow(_route(attempt), WRITTEN))


def _route(attempt: Attempt) -> Callable[[Batches], Batches]:
    def routed(batches: Batches) -> Batches:
        import pyarrow.compute as pc

        writers = Writers(attempt, partition())
        for batch in batches:
            for table in pc.unique(batch.column("table")).to_pylist():
                chosen = batch.filter(pc.equal(batch.column("table"), table))
                for day, rows in _by_day(chosen):
                    writers.add(table, dated(day), rows.select(NAMES[table]))
        yield from listed(writers.close())

    return routed


def listed(files: Sequence[File]) -> Batches:
    """Files as rows of ``WRITTEN``."""
    import pyarrow as pa

    if files:
        yield pa.RecordBatch.from_pylist([{name: getattr(f, name) for name in _FILE} for f in files])


def write(rows: DataFrame, table: str, attempt: Attempt) -> list[File]:
    """Write all rows to one table; the files that came of it."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's habit, heavy

    return write_routed(rows.withColumn("table", F.lit(table)), attempt)


def keep(rows: DataFrame, table: str, attempt: Attempt) -> list[File]:
    """Write a few rows to a table from the driver, as one file."""
    from pyarrow import parquet

    collected = rows.toArrow()
    if not collected.num_rows:
        return []
    path, place = attempt.path(table, "all", 0), attempt.place
    place.filesystem.create_dir(place.path(path).rpartition("/")[0], recursive=True)
    parquet.write_table(collected.select(NAMES[table]), place.path(path), filesystem=place.filesystem)
    size = place.filesystem.get_file_info(place.path(path)).size
    return [File(table, path, collected.num_rows, int(size or 0))]


def written(files: DataFrame) -> list[File]:
    """Rows of ``WRITTEN`` as files."""
    return [File(row.table, row.path, row.rows, row.bytes) for row in files.collect()]


def _by_day(batch: pa.RecordBatch) -> Iterator[tuple[int | None, pa.RecordBatch]]:
    """Rows by the day since 1970 in their first time column; rows of a published table all under None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not batch.num_rows:
        return
    column = next((name for name in ("arrived", "last_arrived") if name in batch.schema.names), None)
    if column is None:
        yield None, batch
        return
    days = pc.floor_temporal(batch.column(column), unit="day").cast(pa.int64()).fill_null(0)
    found = pc.unique(days).to_pylist()
    for day in found:
        yield day // _DAY, batch if len(found) == 1 else batch.filter(pc.equal(days, day))


def dated(day: int | None) -> str:
    """The UTC date of a day since 1970, as it stands in a path."""
    return "all" if day is None else (date(1970, 1, 1) + timedelta(days=day)).isoformat()


def partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())
