"""The tables and their commits: a file belongs to a table only if a commit names it.

A batch writes Parquet files ``<table>/date=<arrival>/batch=<n>/part-*.parquet`` and then one commit
``_commits/<n>.json`` that names them. A run that dies leaves files without a commit; the next run removes
them and repeats the batch. So every record is in the tables exactly once, on a disk and on S3, without a jar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from sandbox.pipeline.failures import UsageError
from sandbox.pipeline.table_storage import TableStorage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator["pa.RecordBatch"]
_HEAD = (
    "stream STRING, shard STRING, sequence_number STRING, partition_key STRING, arrived TIMESTAMP, size INT, "
    "identity STRING, message_id STRING, correlation_id STRING, message_class STRING, message_type STRING, "
    "sequence STRING, position INT, total INT, tenant BIGINT, version STRING, published TIMESTAMP"
)
_VERSIONS = "previous ARRAY<STRING>, following ARRAY<STRING>"
_OBJECT = f"object_uuid STRING, resource_type STRING, title STRING, replaces STRING, {_VERSIONS}"
_VERDICT = "code STRING, description STRING"

COLUMNS: dict[str, str] = {
    "arrivals": f"{_HEAD}, {_OBJECT}, {_VERDICT}, data BINARY",
    "messages": f"{_HEAD}, {_OBJECT}, file STRING",
    "parts": f"{_HEAD}, data BINARY, file STRING",
    "duplicates": f"{_HEAD}, file STRING",
    "rejects": f"{_HEAD}, {_VERDICT}, data BINARY, file STRING",
    "queued": f"{_HEAD}, {_VERDICT}, data BINARY, file STRING",
    "sequences": (
        "stream STRING, sequence STRING, status STRING, parts INT, total INT, first_arrived TIMESTAMP, "
        "last_arrived TIMESTAMP, size INT, body_sha256 STRING, message_id STRING, message_class STRING, "
        f"message_type STRING, tenant BIGINT, version STRING, published TIMESTAMP, {_OBJECT}, {_VERDICT}"
    ),
    "objects": (
        "object_uuid STRING, tenant BIGINT, resource_type STRING, title STRING, message_type STRING, "
        "message_id STRING, created TIMESTAMP, updated TIMESTAMP, deleted BOOLEAN, deleted_at TIMESTAMP, "
        "replaces STRING, replaced_by STRING, first_version STRING, version BIGINT, preserved TIMESTAMP, "
        f"{_VERSIONS}"
    ),
    "figures": (
        "minute TIMESTAMP, stream STRING, tenant BIGINT, outcome STRING, code STRING, messages BIGINT, "
        "bytes BIGINT, latency_ms_max BIGINT, latency_ms_sum BIGINT, latency BINARY"
    ),
}
"""The columns of every table, with Spark's type names. Times are UTC; sizes are bytes."""

LOGS = ("arrivals", "messages", "parts", "duplicates", "rejects", "queued", "sequences", "figures")
"""Tables that batches append to; the other tables are derived from them and replaced as a whole."""


class File(msgspec.Struct, frozen=True):
    """A Parquet file of a table; ``path`` is relative to the place."""

    table: str
    path: str
    rows: int
    bytes: int


class Commit(msgspec.Struct, frozen=True):
    """The files that one batch added. ``run`` is the id of the query that owns the batch numbers.

    ``first`` and ``last`` are arrivals in seconds since the epoch; both are None in a batch without rows.
    ``oldest_open`` is the first arrival of the oldest sequence that is open after the batch.
    """

    batch: int
    run: str
    first: float | None
    last: float | None
    oldest_open: float | None
    files: tuple[File, ...]


class Publication(msgspec.Struct, frozen=True):
    """The files of the derived tables, up to and including a batch."""

    batch: int
    files: tuple[File, ...]


class AnotherRunError(UsageError):
    """The tables belong to a run with another checkpoint."""


@dataclass
class Tables:
    """The tables of one place. It loads the commits once; afterwards only this object may add commits."""

    place: TableStorage

    def __post_init__(self) -> None:
        names = [name for name in self.place.names("_commits") if name.endswith(".json")]
        read = (self.place.read(name) for name in names)
        self.commits = [msgspec.json.decode(raw, type=Commit) for raw in read if raw is not None]
        published = self.place.read("_published.json")
        self.published = (
            msgspec.json.decode(published, type=Publication) if published else Publication(-1, ())
        )

    def holds(self, batch: int, run: str) -> bool:
        """Whether a batch is committed. Raises AnotherRunError when the tables belong to another run."""
        other = next((commit.run for commit in self.commits if commit.run != run), None)
        if other is not None:
            raise AnotherRunError(
                f"the tables in {self.place.uri} were written with another checkpoint (run {other}); "
                "name that checkpoint with --checkpoint, or another place with --to"
            )
        return any(commit.batch == batch for commit in self.commits)

    def commit(self, commit: Commit) -> None:
        """Add a batch's files to the tables atomically."""
        self.place.write(f"_commits/{commit.batch:08d}.json", msgspec.json.encode(commit))
        self.commits.append(commit)

    def publish(self, publication: Publication) -> None:
        """Replace the derived tables atomically, and remove their previous files."""
        before = {file.path for file in self.published.files}
        self.place.write("_published.json", msgspec.json.encode(publication))
        self.published = publication
        for path in before - {file.path for file in publication.files}:
            self.place.remove(path)

    def sweep(self) -> int:
        """Remove the files that a dead run left without a commit; return their number."""
        known = {file.path for commit in self.commits for file in commit.files}
        known |= {file.path for file in self.published.files}
        left = [p for table in COLUMNS for p in self.place.names(table, recursive=True) if p not in known]
        for path in left:
            self.place.remove(path)
        return len(left)

    def files(self, table: str, *, since: float | None = None, after: int = -1) -> list[File]:
        """The files of a table, of batches ``after`` a number with arrivals ``since`` a time in seconds."""
        if table not in LOGS:
            return [file for file in self.published.files if file.table == table]
        return [
            file
            for commit in self.commits
            if commit.batch > after and (since is None or (commit.last or 0.0) >= since)
            for file in commit.files
            if file.table == table
        ]

    @property
    def oldest_open(self) -> float | None:
        """The first arrival of the oldest sequence that the last batch left open; None for none."""
        return self.commits[-1].oldest_open if self.commits else None

    def rows(self) -> dict[str, int]:
        """The number of rows of every table."""
        return {table: sum(file.rows for file in self.files(table)) for table in COLUMNS}

    def read(
        self,
        spark: SparkSession,
        table: str,
        *,
        columns: str | None = None,
        since: float | None = None,
        after: int = -1,
    ) -> DataFrame:
        """Read the files of a table that ``files`` selects; ``columns`` are written as in ``COLUMNS``."""
        chosen = self.files(table, since=since, after=after)
        return read_files(spark, self.place, columns or COLUMNS[table], [file.path for file in chosen])


def read_files(spark: SparkSession, place: TableStorage, columns: str, paths: Sequence[str]) -> DataFrame:
    """Read columns of some files: with Spark's reader from a disk, with pyarrow on the executors from S3."""
    if not paths:
        return empty_frame(spark, columns)
    if not place.remote:
        return spark.read.schema(columns).parquet(*(place.path(path) for path in paths))
    listed = spark.createDataFrame([(path,) for path in paths], "path STRING")
    spread = listed.repartition(min(len(paths), spark.sparkContext.defaultParallelism * 2))
    return spread.mapInArrow(
        _read_from_s3(place, [column.split()[0] for column in columns.split(", ")]), columns
    )


def empty_frame(spark: SparkSession, columns: str) -> DataFrame:
    """An empty frame with these columns, which Spark's optimiser knows to be empty."""
    typed = (column.split() for column in columns.split(", "))
    return spark.range(0).selectExpr(*(f"CAST(NULL AS {kind}) AS {name}" for name, kind in typed)).limit(0)


def _read_from_s3(place: TableStorage, columns: list[str]) -> Callable[[Batches], Batches]:
    def opened(batches: Batches) -> Batches:
        from pyarrow import parquet

        for batch in batches:
            for path in batch.column(0).to_pylist():
                with parquet.ParquetFile(place.path(path), filesystem=place.filesystem) as file:
                    yield from file.iter_batches(batch_size=1000, columns=columns)

    return opened
