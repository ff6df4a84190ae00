"""Write rows to the files of tables, on the executors: one file for each table, date and partition."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sandbox.pipeline.spark.failures import PipelineFailedError
from sandbox.pipeline.storage.schema import TABLES, Table, arrow_schema, list_columns
from sandbox.pipeline.storage.table_log import File
from sandbox.pipeline.storage.table_storage import TableStorage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_UNIQUE = {"data", "message_id", "identity", "sequence_number"}
"""Columns whose values do not repeat, for which a dictionary would be a waste."""

WRITTEN = "table STRING, path STRING, rows BIGINT, bytes BIGINT, first BIGINT, last BIGINT, undated BIGINT"
"""The rows that a writing task returns: one for each of its files."""

Batches = Iterator["pa.RecordBatch"]
_FILE = [column.split()[0] for column in WRITTEN.split(", ")]


@dataclass(frozen=True)
class BatchAttempt:
    """One try at one batch of the tables in ``schema``.

    ``token`` is unique to the driver, so that two tries never write the same file.
    """

    place: TableStorage
    batch: int
    token: str
    schema: Mapping[str, Table] = field(default_factory=lambda: TABLES)

    def path(self, table: str, part: int) -> str:
        """Build the path, relative to the place, for the rows of a partition and a table."""
        return f"{table}/batch-{self.batch:08d}-part-{part:05d}-{self.token}.parquet"


class WrongColumnError(PipelineFailedError):
    """A stage made a column that the table does not have so."""


@dataclass
class _Writing:
    """A file that is being written."""

    table: str
    writer: Any
    target: str
    rows: int = 0
    first: int | None = None
    last: int | None = None
    undated: int = 0


@dataclass
class Writers:
    """The open files of one partition, ``part``."""

    attempt: BatchAttempt
    part: int
    files: dict[str, _Writing] = field(default_factory=dict)

    def add(self, table: str, rows: pa.RecordBatch) -> int:
        """Write the columns of a table to its file; return the number of rows that it had before.

        Raises WrongColumnError for a column whose type is not the table's.
        """
        path, stored = self.attempt.path(table, self.part), store_columns(table, rows, self.attempt)
        if not rows.num_rows:
            return 0
        writing = self.files.get(path) or self._open(table, path, stored.schema)
        writing.writer.write_batch(stored)
        first, last, undated = time_bounds(self.attempt.schema[table].time, rows)
        writing.undated += undated
        writing.first = min((at for at in (writing.first, first) if at is not None), default=None)
        writing.last = max((at for at in (writing.last, last) if at is not None), default=None)
        before = writing.rows
        writing.rows += rows.num_rows
        return before

    def _open(self, table: str, path: str, schema: pa.Schema) -> _Writing:
        from pyarrow import parquet

        place = self.attempt.place
        target = place.path(path) + ("" if place.remote else f".{os.getpid()}.new")
        writer = parquet.ParquetWriter(
            target,
            schema,
            filesystem=place.filesystem,
            compression="zstd",
            compression_level=1,
            use_dictionary=[name for name in schema.names if name not in _UNIQUE],
            write_statistics=False,
        )
        self.files[path] = _Writing(table, writer, target)
        return self.files[path]

    def close(self) -> list[File]:
        """Finish every file. On a disk it gets its name only now, so a half-written one never has it."""
        place, batch, closed = self.attempt.place, self.attempt.batch, []
        for path, writing in self.files.items():
            writing.writer.close()
            if writing.target != place.path(path):
                place.filesystem.move(writing.target, place.path(path))
            size, bounds = place.size(path), (writing.first, writing.last, writing.undated)
            closed.append(File(writing.table, path, writing.rows, size, *bounds, (batch, batch)))
        return closed

    def finish(self) -> Batches:
        """Finish every file; yield them as rows of ``WRITTEN``."""
        import pyarrow as pa

        if files := self.close():
            rows = [{name: getattr(file, name) for name in _FILE} for file in files]
            yield pa.RecordBatch.from_pylist(rows, schema=arrow_schema(WRITTEN))


def store_columns(table: str, rows: pa.RecordBatch, attempt: BatchAttempt) -> pa.RecordBatch:
    """Choose the columns of a table, in its order, and the number of the batch. Raises WrongColumnError."""
    import numpy as np
    import pyarrow as pa

    made = attempt.schema[table].names
    schema = arrow_schema(list_columns(attempt.schema[table].stored))
    columns = [
        rows.column(name) if name in made else pa.array(np.full(rows.num_rows, attempt.batch))
        for name in schema.names
    ]
    for at, (given, column) in enumerate(zip(columns, schema, strict=True)):
        if given.type == column.type:
            continue
        lists = pa.types.is_list(given.type) and pa.types.is_list(column.type)
        if not lists or given.type.value_type != column.type.value_type:
            raise WrongColumnError(f"{table}.{column.name} would be {given.type}, but is {column.type}")
        columns[at] = given.cast(column.type)  # they differ in whether an element can be null
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def time_bounds(time: str | None, rows: pa.RecordBatch) -> tuple[int | None, int | None, int]:
    """The bounds of a table's column of ``time``, and how many rows have none.

    They are in microseconds since the epoch, and None without any time.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if time is None:
        return None, None, 0
    found = pc.min_max(rows.column(time).cast(pa.int64()))
    return found["min"].as_py(), found["max"].as_py(), rows.column(time).null_count


def write_routed(rows: DataFrame, attempt: BatchAttempt) -> list[File]:
    """Write each row to the table in its column ``table``; return the files."""

    def write_partition(batches: Batches) -> Batches:
        import pyarrow.compute as pc

        writers = Writers(attempt, partition())
        for batch in batches:
            for table in pc.unique(batch.column("table")).to_pylist():
                writers.add(table, batch.filter(pc.equal(batch.column("table"), table)))
        yield from writers.finish()

    return collect(rows.mapInArrow(write_partition, WRITTEN), attempt)


def write(rows: DataFrame, table: str, attempt: BatchAttempt) -> list[File]:
    from pyspark.sql import functions as F  # noqa: N812 - Spark's habit, heavy

    return write_routed(rows.withColumn("table", F.lit(table)), attempt)


def write_here(rows: pa.Table, table: str, attempt: BatchAttempt) -> list[File]:
    """Write a few rows to a table from the driver, as one file."""
    writers = Writers(attempt, 0)
    for batch in rows.combine_chunks().to_batches():
        writers.add(table, batch)
    return writers.close()


def collect(files: DataFrame, attempt: BatchAttempt) -> list[File]:
    """Run the writing tasks of ``files``, a frame of ``WRITTEN``; return the files."""
    own = (attempt.batch, attempt.batch)
    return [
        File(row.table, row.path, row.rows, row.bytes, row.first, row.last, row.undated, own)
        for row in files.collect()
    ]


def partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())
