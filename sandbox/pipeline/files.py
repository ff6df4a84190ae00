"""Writing rows into the files of tables, on the executors: one file a table, date and partition."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sandbox.pipeline.place import Place
from sandbox.pipeline.tables import COLUMNS, File

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_UNIQUE = {"data", "message_id", "identity", "sequence_number"}
"""Columns whose values do not repeat, for which a dictionary would be a waste."""

Batches = Iterator["pa.RecordBatch"]
_NAMES = {table: [column.split()[0] for column in columns.split(", ")] for table, columns in COLUMNS.items()}


@dataclass(frozen=True)
class Attempt:
    """One try at one batch.

    ``token`` is unique to the driver, so that two tries never write the same file.
    """

    place: Place
    batch: int
    token: str

    def path(self, table: str, date: str, part: int) -> str:
        """Where a partition's rows of a table and a date go, relative to the place."""
        return f"{table}/date={date}/batch={self.batch:08d}/part-{part:05d}-{self.token}.parquet"


@dataclass
class _Writers:
    """The open files of one partition."""

    attempt: Attempt
    part: int
    files: dict[str, tuple[str, Any, str]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    def add(self, table: str, date: str, rows: pa.RecordBatch) -> str:
        """Write rows to their file; its path."""
        from pyarrow import parquet  # noqa: PLC0415 - on executors

        path = self.attempt.path(table, date, self.part)
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


def keep_data(attempt: Attempt, table: str) -> Callable[[Batches], Batches]:
    """For mapInArrow.

    Write rows to ``table``, pass them on with ``file`` and with data only where there is a code.

    The bytes of a message are thus handled once; everything behind works on a few hundred bytes a message.
    """

    def kept(batches: Batches) -> Batches:
        import pyarrow as pa  # noqa: PLC0415 - on executors
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        writers = _Writers(attempt, _partition())
        for batch in batches:
            for date, rows in _by_date(batch):
                path = writers.add(table, date, rows.select(_NAMES[table]))
                data = pc.if_else(
                    pc.is_valid(rows.column("code")), rows.column("data"), pa.scalar(None, pa.binary())
                )
                slim = rows.set_column(rows.schema.get_field_index("data"), "data", data)
                yield slim.append_column("file", pa.array([path] * rows.num_rows, pa.string()))
        writers.close()

    return kept


def write_routed(rows: DataFrame, attempt: Attempt) -> list[File]:
    """Write each row to the table that its column ``table`` names.

    The files that came of it.
    """
    return _written(rows.mapInArrow(_route(attempt), "table STRING, path STRING, rows BIGINT, bytes BIGINT"))


def _route(attempt: Attempt) -> Callable[[Batches], Batches]:
    def routed(batches: Batches) -> Batches:
        import pyarrow as pa  # noqa: PLC0415 - on executors
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        writers = _Writers(attempt, _partition())
        for batch in batches:
            for table in pc.unique(batch.column("table")).to_pylist():
                chosen = batch.filter(pc.equal(batch.column("table"), table))
                for date, rows in _by_date(chosen):
                    writers.add(table, date, rows.select(_NAMES[table]))
        columns = [
            list(values)
            for values in zip(*((f.table, f.path, f.rows, f.bytes) for f in writers.close()), strict=True)
        ]
        if columns:
            yield pa.RecordBatch.from_pydict(
                dict(zip(("table", "path", "rows", "bytes"), columns, strict=True))
            )

    return routed


def write(rows: DataFrame, table: str, attempt: Attempt) -> list[File]:
    """Write all rows to one table; the files that came of it."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's habit, heavy

    return write_routed(rows.withColumn("table", F.lit(table)), attempt)


def keep(rows: DataFrame, table: str, attempt: Attempt) -> list[File]:
    """Write a few rows to a table from the driver, as one file."""
    from pyarrow import parquet  # noqa: PLC0415 - heavy

    collected = rows.toArrow()
    if not collected.num_rows:
        return []
    path, place = attempt.path(table, "all", 0), attempt.place
    place.filesystem.create_dir(place.path(path).rpartition("/")[0], recursive=True)
    parquet.write_table(collected.select(_NAMES[table]), place.path(path), filesystem=place.filesystem)
    size = place.filesystem.get_file_info(place.path(path)).size
    return [File(table, path, collected.num_rows, int(size or 0))]


def _written(files: DataFrame) -> list[File]:
    return [File(row.table, row.path, row.rows, row.bytes) for row in files.collect()]


def _by_date(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows by the UTC date in their first time column; rows of a published table all under ``all``."""
    import pyarrow as pa  # noqa: PLC0415 - on executors
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    if not batch.num_rows:
        return
    column = next((name for name in ("arrived", "last_arrived") if name in batch.schema.names), None)
    if column is None:
        yield "all", batch
        return
    days = pc.floor_temporal(batch.column(column), unit="day").cast(pa.int64())
    for day in pc.unique(days).to_pylist():
        date = datetime.fromtimestamp((day or 0) / 1_000_000, UTC).date().isoformat()
        same = pc.equal(days, day) if day is not None else pc.is_null(days)
        yield date, batch.filter(same)


def _partition() -> int:
    from pyspark import TaskContext  # noqa: PLC0415 - on executors

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())
