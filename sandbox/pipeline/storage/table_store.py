"""The tables of one place, and how a batch gets into all of them.

Each is a Delta table. A batch's files are written first, then committed, ``arrivals`` before all others:
that commit decides the batch, and notes the files of the other tables. A run that dies before it leaves
files that no log names, which the next run removes before it does the batch again. A run that dies behind
it leaves tables without the batch, and the next run commits the files that are noted. So every record is in
the tables exactly once, on a disk and on S3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from sandbox.pipeline.spark.failures import PipelineFailedError, UsageError
from sandbox.pipeline.spark.spark_session import count_slots
from sandbox.pipeline.storage.conditional_puts import require_conditional_puts
from sandbox.pipeline.storage.schema import TABLES, Table, list_columns
from sandbox.pipeline.storage.table_log import OWNER, File, TableLog
from sandbox.pipeline.storage.table_storage import TableStorage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator["pa.RecordBatch"]

_OPEN_SINCE: Final = f"{OWNER}/open-since"
_FILES: Final = "rdss.files"
_BATCH = re.compile(r"batch-(\d+)-part-")


class Commit(msgspec.Struct, frozen=True):
    """The files that one batch adds. ``run`` is the id of the pipeline that owns the batch numbers.

    ``oldest_open`` is the first arrival of the oldest sequence that is open after the batch, in seconds
    since the epoch.
    """

    batch: int
    run: str
    oldest_open: float | None
    files: tuple[File, ...]

    def of(self, table: str) -> list[File]:
        return [file for file in self.files if file.table == table]


class AnotherRunError(UsageError):
    """The tables belong to a run with another checkpoint."""


class OldFormatError(UsageError):
    """The tables were written before the pipeline wrote Delta tables."""


@dataclass
class Tables:
    """The tables of one place. Raises OldFormatError for tables of an earlier format."""

    place: TableStorage
    schema: Mapping[str, Table] = field(default_factory=lambda: TABLES)

    def __post_init__(self) -> None:
        if self.place.names("_commits"):
            raise OldFormatError(
                f"the tables in {self.place.uri} are of an older format: remove them, or name another place, "
                "and write them again with: sandbox pipeline run"
            )
        self._logs = {name: TableLog(self.place, name, table) for name, table in self.schema.items()}

    @property
    def exist(self) -> bool:
        """Whether a run has begun to write here."""
        return self._logs["arrivals"].exists

    def log(self, table: str) -> TableLog:
        return self._logs[table]

    def prepare(self) -> None:
        """Make the place ready for a run: all tables, with all columns, and nothing of a batch half done.

        Raises SchemaMismatchError for a column of another type, PipelineFailedError when a batch cannot be
        finished, UnsafeStoreError for a store without conditional puts.
        """
        require_conditional_puts(self.place)
        self._each(TableLog.prepare)
        self._finish_last_batch()
        self.sweep()

    def refresh(self) -> None:
        """See what was committed since, by others too."""
        self._each(TableLog.refresh, self.present)

    @property
    def present(self) -> list[str]:
        """The tables that are there: a contract may have more than the last run made."""
        return [name for name, log in self._logs.items() if log.exists]

    def _each(self, act: Callable[[TableLog], object], names: Iterable[str] | None = None) -> None:
        with ThreadPoolExecutor(9) as pool:
            list(pool.map(lambda name: act(self._logs[name]), self._logs if names is None else names))

    def _finish_last_batch(self) -> None:
        last = self.last_batch
        behind = [name for name, batch in self._list_reached() if batch < last]
        if not behind:
            return
        noted = self._logs["arrivals"].note(_FILES)
        if noted is None:
            raise PipelineFailedError(
                f"batch {last} in {self.place.uri} is not in {', '.join(behind)}, and the log of arrivals no "
                "longer tells its files: write the tables again, with --to another place"
            )
        self._commit_others(msgspec.json.decode(noted, type=Commit))

    def _list_reached(self) -> Iterator[tuple[str, int]]:
        """The last batch of each table that grows; -1 before the first.

        A batch is committed to every table. One without any, of several, is of a message that is new.
        """
        last = self.last_batch
        for name, log in self._logs.items():
            batch = log.last_batch() if log.table.grows else last
            if batch is not None or last == 0:
                yield name, -1 if batch is None else batch

    def holds(self, batch: int, run: str) -> bool:
        """Whether a batch is committed. Raises AnotherRunError when the tables belong to another run."""
        self.refresh()
        own = self._logs["arrivals"].last_batch(run)
        if own is None and self.last_batch >= 0:
            raise AnotherRunError(
                f"the tables in {self.place.uri} were written with another checkpoint; "
                "name that checkpoint with --checkpoint, or another place with --to"
            )
        return own is not None and own >= batch

    def commit(self, commit: Commit) -> None:
        """Add a batch's files to the tables; do nothing in tables that have the batch."""
        oldest = commit.oldest_open
        marks = {_OPEN_SINCE: -1 if oldest is None else round(oldest * 1_000_000)}
        notes = {_FILES: msgspec.json.encode(commit).decode()}
        self._logs["arrivals"].commit(
            commit.of("arrivals"), commit.batch, commit.run, marks=marks, notes=notes
        )
        self._commit_others(commit)

    def _commit_others(self, commit: Commit) -> None:
        others = [name for name, log in self._logs.items() if log.table.grows and name != "arrivals"]
        self._each(lambda log: log.commit(commit.of(log.name), commit.batch, commit.run), others)

    def publish(self, files: Sequence[File], batch: int) -> None:
        """Replace the derived table ``objects`` by what it is up to and including a batch."""
        self._logs["objects"].commit(files, batch, OWNER, whole=True)

    @property
    def last_batch(self) -> int:
        """The number of the last batch; -1 before the first."""
        last = self._logs["arrivals"].last_batch()
        return -1 if last is None else last

    @property
    def whole_batch(self) -> int:
        """The number of the last batch that all tables have; ``arrivals`` has a batch before the others."""
        return min(batch for _, batch in (("arrivals", self.last_batch), *self._list_reached()))

    @property
    def published(self) -> int:
        """The batch up to which ``objects`` is published; -1 before the first time."""
        last = self._logs["objects"].last_batch()
        return -1 if last is None else last

    @property
    def oldest_open(self) -> float | None:
        """The first arrival of the oldest sequence that the last batch left open; None for none."""
        since = self._logs["arrivals"].last_batch(_OPEN_SINCE)
        return None if since is None or since < 0 else since / 1_000_000

    @property
    def span(self) -> tuple[float | None, float | None]:
        """The first and the last arrival in seconds since the epoch; None without any."""
        files = [file for file in self.files("arrivals") if file.first is not None and file.last is not None]
        first = min((file.first for file in files if file.first is not None), default=None)
        last = max((file.last for file in files if file.last is not None), default=None)
        return (None if first is None else first / 1e6), (None if last is None else last / 1e6)

    def sweep(self) -> int:
        """Remove the files that a dead run left without a commit; return their number."""
        left = []
        for name, table in self.schema.items():
            last = self.last_batch if table.grows else self.published
            for path in self.place.names(name):
                number = _BATCH.search(path)
                if (number and int(number[1]) > last) or path.endswith(".new"):
                    left.append(path)
        for path in left:
            self.place.remove(path)
        return len(left)

    def files(self, table: str, *, since: float | None = None, after: int = -1) -> list[File]:
        """The files of a table with batches ``after`` a number and with arrivals ``since`` a time in seconds.

        The batches with arrivals since a time are those of ``arrivals``, so they are the same for all tables.
        """
        found = self._logs[table].files()
        if not self.schema[table].grows:
            return found
        if since is not None:
            recent = [
                f.batches[0] for f in self._logs["arrivals"].files() if (f.last or 0) >= since * 1_000_000
            ]
            after = max(after, min(recent, default=self.last_batch + 1) - 1)
        return [file for file in found if file.batches[1] > after]

    def rows(self) -> dict[str, int]:
        """The number of rows of every table."""
        return {table: sum(file.rows for file in self.files(table)) for table in self.present}

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
        return read_files(
            spark,
            self.place,
            columns or list_columns(self.schema[table].stored),
            [file.path for file in chosen],
        )


def read_files(spark: SparkSession, place: TableStorage, columns: str, paths: Sequence[str]) -> DataFrame:
    """Read columns of some files: with Spark's reader from a disk, with pyarrow on the executors from S3."""
    if not paths:
        return empty_frame(spark, columns)
    if not place.remote:
        return spark.read.schema(columns).parquet(*(place.path(path) for path in paths))
    listed = spark.createDataFrame([(path,) for path in paths], "path STRING")
    spread = listed.repartition(min(len(paths), count_slots(spark) * 2))
    return spread.mapInArrow(_read_from_s3(place, columns), columns)


def empty_frame(spark: SparkSession, columns: str) -> DataFrame:
    """An empty frame with these columns, which Spark's optimiser knows to be empty."""
    typed = (column.split() for column in columns.split(", "))
    return spark.range(0).selectExpr(*(f"CAST(NULL AS {kind}) AS {name}" for name, kind in typed)).limit(0)


def _read_from_s3(place: TableStorage, columns: str) -> Callable[[Batches], Batches]:
    def opened(batches: Batches) -> Batches:
        from pyarrow import dataset

        from sandbox.pipeline.storage.schema import arrow_schema

        # Files from before a column was added do not have it: the dataset gives nulls.
        schema = arrow_schema(columns)
        for batch in batches:
            paths = [place.path(path) for path in batch.column(0).to_pylist()]
            files = dataset.dataset(paths, schema=schema, filesystem=place.filesystem, format="parquet")
            yield from files.to_batches(batch_size=1000)

    return opened
