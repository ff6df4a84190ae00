"""A run reads the streams or the audit bucket into tables, once or until it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from emulator.rng import new_uuid
from sandbox.pipeline.sources.stream_source import find_stream_source
from sandbox.pipeline.spark.failures import (
    PipelineFailedError,
    UnavailableError,
    UsageError,
    WorkerLostError,
    describe_failure,
)
from sandbox.pipeline.spark.spark_session import is_remote, open_session
from sandbox.pipeline.stages import objects
from sandbox.pipeline.stages.audited import read_audit_batches
from sandbox.pipeline.stages.batch import Past, Rules, process
from sandbox.pipeline.stages.storing import Incoming
from sandbox.pipeline.storage.files import BatchAttempt, Batches, write
from sandbox.pipeline.storage.schema import build_tables
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.storage.table_store import Commit, Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


Progress = Callable[[str, float], None]
Source = Literal["streams", "audit"]


@dataclass(frozen=True)
class Job:
    """What a run reads, where it writes and by which rules.

    ``checkpoint`` is the folder of Spark's offsets. By default it is in ``place``, which must then be a
    folder.
    """

    place: TableStorage
    endpoint_url: str | None = None
    source: Source = "streams"
    streams: tuple[str, ...] = ("input", "output", "error", "invalid")
    bucket: str = "rdss-audit"
    region: str = "us-east-1"
    starting_position: str = "TRIM_HORIZON"
    records_per_trigger: int = 100_000
    checkpoint: str | None = None
    rules: Rules = field(default_factory=Rules)

    @property
    def checkpoint_folder(self) -> str:
        """The folder of the offsets. Raises CheckpointMissingError for S3 without ``checkpoint``."""
        if self.checkpoint:
            return self.checkpoint
        if self.place.remote:
            raise CheckpointMissingError(
                f"{self.place.uri} cannot hold the offsets as well: name a folder for them with --checkpoint"
            )
        return self.place.path("_checkpoint")


class CheckpointMissingError(UsageError):
    """A run that writes to S3 was given no folder for its offsets."""


def run_once(
    *,
    endpoint_url: str,
    source: Source,
    to: Path | str,
    master: str = "local[*]",
    streams: tuple[str, ...] = ("input", "output", "error", "invalid"),
    rules: Rules | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Read all current records, write the tables, and return the number of rows of each.

    ``progress`` is called with a description of the current step and the completed share, 0 to 1.
    """
    tell = progress or (lambda _what, _share: None)
    tell("starting Spark", 0.0)
    job = Job(TableStorage.at(to, endpoint_url), endpoint_url, source, streams, rules=rules or Rules())
    spark = open_session(master)
    return once(spark, job, progress=tell).rows()


def once(
    spark: SparkSession,
    job: Job,
    *,
    stopped: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
) -> Tables:
    """Process all current records, or those until ``stopped`` returns True; publish, and end."""
    tell = progress or (lambda _what, _share: None)

    def wait_for(query: StreamingQuery, _: Tables) -> None:
        while not query.awaitTermination(1) and not stopped():
            pass

    tables = _run_query(spark, job, {"availableNow": True}, tell, wait_for)
    tables.refresh()
    tell("publishing objects", 0.9)
    publish(spark, tables, new_uuid())
    tell("tables are written", 1.0)
    return tables


def follow(
    spark: SparkSession,
    job: Job,
    *,
    every: str = "2 seconds",
    publish_every: float = 60.0,
    stopped: Callable[[], bool],
    progress: Progress | None = None,
) -> Tables:
    """Process new records batch by batch until ``stopped`` returns True.

    Publish after every ``publish_every`` seconds of arrival time.
    """
    tell = progress or (lambda _what, _share: None)
    published = 0.0

    def wait_for(query: StreamingQuery, tables: Tables) -> None:
        nonlocal published
        while not query.awaitTermination(1) and not stopped():
            if is_remote(spark):
                tables.refresh()
            latest = tables.span[1]
            if latest is not None and latest - published >= publish_every:
                publish(spark, tables, new_uuid())
                published = latest

    tables = _run_query(spark, job, {"processingTime": every}, tell, wait_for)
    tables.refresh()
    publish(spark, tables, new_uuid())
    return tables


def _run_query(
    spark: SparkSession,
    job: Job,
    trigger: dict[str, bool | str],
    tell: Progress,
    wait_for: Callable[[StreamingQuery, Tables], object],
) -> Tables:
    """Run the query until ``wait_for`` returns; return the tables.

    Spark allows its Python worker ten seconds to start, which may not be enough on a busy machine. The query
    is then begun again at its current batch, up to five times, and so it is where a worker died.
    """

    def run() -> Tables:
        with _open_query(spark, job, trigger, tell) as (query, tables):
            wait_for(query, tables)
        return tables

    source = find_stream_source()
    if source is None:
        return run()
    return source.begin_again(
        run,
        lost=lambda error: isinstance(error, WorkerLostError),
        tell=lambda: tell("Spark lost a Python process: starting again", 0.0),
    )


@contextmanager
def _open_query(
    spark: SparkSession, job: Job, trigger: dict[str, bool | str], tell: Progress
) -> Iterator[tuple[StreamingQuery, Tables]]:
    """Start the query, and stop it at the end. Raises PipelineFailedError for the error of the query."""
    from pyspark.errors import PySparkException

    tables, token, failed = (
        Tables(job.place, build_tables(job.rules.contract)),
        new_uuid(),
        list[PipelineFailedError](),
    )
    tables.prepare()
    past, incoming = Past.of(tables, job.rules), arrivals(spark, job)

    def process_here(rows: DataFrame, batch: int) -> None:
        run = rows.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId") or ""
        try:
            if not tables.holds(batch, run):
                tell(f"batch {batch}", 0.1 + 0.8 * batch / (batch + 3))
                attempt = BatchAttempt(job.place, batch, token, tables.schema)
                _report_progress(tell, process(incoming.of(rows), past, job.rules, attempt, run))
        except PipelineFailedError as error:
            failed.append(error)
            raise

    process_there = ServedBatches(job, token, incoming.opened)
    writer = incoming.rows.writeStream.foreachBatch(process_there if is_remote(spark) else process_here)
    writer = writer.option("checkpointLocation", job.checkpoint_folder)
    query: StreamingQuery | None = None
    try:
        query = writer.trigger(**trigger).start()  # type: ignore[arg-type]
        yield query, tables
    except PySparkException as error:
        raise (failed[0] if failed else describe_failure(error)) from None
    finally:
        if query is not None:
            query.stop()


@dataclass
class ServedBatches:
    """What a Spark Connect server calls with each batch of a query, in a process of its own.

    It is sent there once, so that what the driver keeps elsewhere is kept there, from the first batch on.
    """

    job: Job
    token: str
    opened: Callable[[Batches], Batches]
    _kept: tuple[Past, Tables, str] | None = None

    def __call__(self, rows: DataFrame, batch: int) -> None:
        job = self.job
        if self._kept is None:
            tables = Tables(job.place, build_tables(job.rules.contract))
            if not tables.exist:
                raise UsageError(
                    f"the Spark Connect server does not see {job.place.uri}: name a folder of both, or s3://"
                )
            mark = rows.sparkSession.read.text(f"{job.checkpoint_folder}/metadata").first()
            assert mark is not None
            self._kept = Past.of(tables, job.rules), tables, msgspec.json.decode(mark[0])["id"]
        past, tables, run = self._kept
        if not tables.holds(batch, run):
            attempt = BatchAttempt(job.place, batch, self.token, tables.schema)
            process(Incoming(rows, self.opened), past, job.rules, attempt, run)


def _report_progress(tell: Progress, commit: Commit) -> None:
    rows = sum(file.rows for file in commit.of("arrivals"))
    tell(f"batch {commit.batch}: {rows} records", 0.1 + 0.8 * (commit.batch + 1) / (commit.batch + 4))


def arrivals(spark: SparkSession, job: Job) -> Incoming:
    """Open the source of a job as a stream."""
    service = {"region": job.region} | ({"endpointUrl": job.endpoint_url} if job.endpoint_url else {})
    if job.source == "audit":
        lines = spark.readStream.format("bucket").options(bucket=job.bucket, **service).load()
        return Incoming(lines, read_audit_batches)
    source = find_stream_source()
    if source is None:
        raise UnavailableError("no extension that reads streams with Spark is installed; read the audit log")
    options = service | {
        "streamName": ",".join(job.streams),
        "startingPosition": job.starting_position,
        "maxRecordsPerTrigger": str(job.records_per_trigger),
    }
    ranges = spark.readStream.format(source.FORMAT).options(**options).load()
    return Incoming(ranges, source.reading(options))


def publish(spark: SparkSession, tables: Tables, token: str) -> None:
    """Bring ``objects`` up to the last whole batch; do nothing when it is there, or messages have none."""
    batch, after = tables.whole_batch, tables.published
    if batch <= after or "object_uuid" not in tables.schema["messages"].names:
        return
    attempt = BatchAttempt(tables.place, batch, token, tables.schema)
    state = objects.merge_objects(tables.read(spark, "objects"), read_changes(spark, tables, after))
    tables.publish(write(state, "objects", attempt), batch)


def read_changes(spark: SparkSession, tables: Tables, after: int = -1) -> DataFrame:
    """The changes of objects in batches behind ``after``, from messages and joined sequences."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    whole = tables.read(spark, "messages", after=after)
    joined = tables.read(spark, "sequences", after=after).filter(F.col("status") == "joined")
    return whole.select(*objects.CHANGE).unionByName(
        joined.withColumnRenamed("last_arrived", "arrived").select(*objects.CHANGE)
    )
