"""Write rows to the files of tables, on the executors: one file for each table, date and partition."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from sandbox.pipeline.table_storage import TableStorage
from sandbox.pipeline.tables import COLUMNS, File

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_UNIQUE = {"data", "message_id", "identity", "sequence_number"}
"""Columns whose values do not repeat, for which a dictionary would be a waste."""

WRITTEN = "table STRING, path STRING, rows BIGINT, bytes BIGINT"
"""The rows that a writing task returns: one for each of its files."""

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

    def path(self, table: str, day: int | None, part: int) -> str:
        """Build the path, relative to the place, for the rows of a partition, a table and a day since 1970.

        The day None is for rows of all days.
        """
        folder = "all" if day is None else (date(1970, 1, 1) + timedelta(days=day)).isoformat()
        return f"{table}/date={folder}/batch={self.batch:08d}/part-{part:05d}-{self.token}.parquet"


@dataclass
class Writers:
    """The open files of one partition, ``part``."""

    attempt: Attempt
    part: int
    files: dict[str, tuple[str, Any, str]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    def add(self, table: str, day: int | None, rows: pa.RecordBatch) -> int:
        """Write the columns of a table to its file of a day; return the number of rows it had before."""
        from pyarrow import parquet

        rows, path = rows.select(NAMES[table]), self.attempt.path(table, day, self.part)
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
        before = self.rows[path]
        self.rows[path] += rows.num_rows
        return before

    def close(self) -> list[File]:
        """Finish every file. On a disk it gets its name only now, so a half-written one never has it."""
        place, closed = self.attempt.place, []
        for path, (table, writer, target) in self.files.items():
            writer.close()
            if target != place.path(path):
                place.filesystem.move(target, place.path(path))
            closed.append(File(table, path, self.rows[path], place.size(path)))
        return closed

    def finish(self) -> Batches:
        """Finish every file; yield them as rows of ``WRITTEN``."""
        import pyarrow as pa

        if files := self.close():
            yield pa.RecordBatch.from_pylist([{name: getattr(f, name) for name in _FILE} for f in files])


def write_routed(rows: DataFrame, attempt: Attempt) -> list[File]:
    """Write each row to the table in its column ``table``; return the files."""

    def write_partition(batches: Batches) -> Batches:
        import pyarrow.compute as pc

        writers = Writers(attempt, partition())
        for batch in batches:
            for table in pc.unique(batch.column("table")).to_pylist():
                for day, chosen in by_day(batch.filter(pc.equal(batch.column("table"), table))):
                    writers.add(table, day, chosen)
        yield from writers.finish()

    return collect(rows.mapInArrow(write_partition, WRITTEN))


def write(rows: DataFrame, table: str, attempt: Attempt) -> list[File]:
    """Write all rows to one table; return the files."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's habit, heavy

    return write_routed(rows.withColumn("table", F.lit(table)), attempt)


def write_here(rows: DataFrame, table: str, attempt: Attempt) -> list[File]:
    """Write a few rows to a table from the driver, as one file."""
    import pyarrow as pa
    from pyarrow import parquet

    collected = rows.toArrow()
    if not collected.num_rows:
        return []
    buffer, path = pa.BufferOutputStream(), attempt.path(table, None, 0)
    parquet.write_table(collected.select(NAMES[table]), buffer)
    content = buffer.getvalue().to_pybytes()
    attempt.place.write(path, content)
    return [File(table, path, collected.num_rows, len(content))]


def collect(files: DataFrame) -> list[File]:
    """Run the writing tasks of ``files``, a frame of ``WRITTEN``; return the files."""
    return [File(row.table, row.path, row.rows, row.bytes) for row in files.collect()]


def by_day(batch: pa.RecordBatch) -> Iterator[tuple[int | None, pa.RecordBatch]]:
    """Yield the rows by the day since 1970 in their first time column.

    All rows of a published table, which has no such column, come under None.
    """
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


def partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())
