"""One batch: the stages in their order, from records to a commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sandbox.pipeline import figures, sequences
from sandbox.pipeline.deduplication import marked_among
from sandbox.pipeline.files import KEPT, Attempt, Batches, dated, keep, keep_whole, write_routed
from sandbox.pipeline.identities import Identities
from sandbox.pipeline.outcomes import write_outcomes
from sandbox.pipeline.parsing import judging
from sandbox.pipeline.routing import routed
from sandbox.pipeline.tables import COLUMNS, Commit, File, Tables, read_files

if TYPE_CHECKING:
    import numpy as np
    from pyspark.sql import DataFrame, SparkSession

_GROUP = ["stream", "shard", "part", "day"]
_LEAN_PARTS = ", ".join(c for c in COLUMNS["parts"].split(", ") if c not in {"data BINARY", "file STRING"})


@dataclass(frozen=True)
class Rules:
    """What the stages go by. ``dedupe_window`` and ``sequence_limit`` are seconds of arrival time.

    ``as_published`` judges messages as the published schema files do.
    """

    queues: tuple[str, ...] = ("error", "invalid")
    dedupe_window: float = 86_400.0
    sequence_limit: float = 900.0
    as_published: bool = False


@dataclass(frozen=True)
class Incoming:
    """Rows of a source, and what makes ``RECORDS`` of them where they are worked on."""

    rows: DataFrame
    opened: Callable[[Batches], Batches]

    def of(self, rows: DataFrame) -> Incoming:
        """The same for the rows of one batch."""
        return Incoming(rows, self.opened)


@dataclass(frozen=True)
class _Arrived:
    """What is kept of a batch: ``KEPT`` rows, and what they hold."""

    rows: DataFrame
    keys: np.ndarray[Any, Any]
    first: datetime | None
    last: datetime | None
    even: datetime | None
    """How far every shard of the batch has come: what sequences are late by."""
    files: tuple[File, ...]


def process(incoming: Incoming, past: Identities, rules: Rules, attempt: Attempt, run: str) -> Commit:
    """Take a batch through every stage and commit what came of it to the tables of ``past``."""
    tables = past.tables
    arrived = _stored(incoming, rules, attempt)
    if not arrived.files:
        commit = Commit(attempt.batch, run, None, None, _oldest_open(tables), ())
        tables.commit(commit)
        return commit
    # Lines that are no records have no arrival either, and may be all that there is.
    now = arrived.even or datetime.fromtimestamp(0, UTC)
    first, last = (at.timestamp() if at else None for at in (arrived.first, arrived.last))
    marked = _deduplicated(arrived, past, first or 0.0)
    rows = routed(marked, rules.queues)
    outcomes = write_outcomes(rows, attempt)
    files = [*arrived.files, *outcomes, *keep(figures.counted(rows), "figures", attempt)]
    oldest, parts = _oldest_open(tables), [file for file in outcomes if file.table == "parts"]
    if parts or (oldest is not None and oldest < now.timestamp() - rules.sequence_limit):
        more, oldest = _sequences(rows.sparkSession, parts, tables, attempt, now=now, rules=rules)
        files += more
    commit = Commit(attempt.batch, run, first, last, oldest, tuple(files))
    tables.commit(commit)
    for frame in (marked, arrived.rows):
        frame.unpersist()
    return commit


def _stored(incoming: Incoming, rules: Rules, attempt: Attempt) -> _Arrived:
    """Judge the records and store each whole."""
    import pyarrow.compute as pc

    opened, kept = incoming.opened, keep_whole(attempt)
    judge = judging(rules.queues, as_published=rules.as_published)
    # All in one worker: between two, Spark would carry every message through the JVM.
    rows = incoming.rows.mapInArrow(lambda batches: kept(judge(opened(batches))), KEPT).persist()
    # A few dozen bytes a record come to the driver, which a batch has as many of as its source lets in.
    told = rows.select("key", *_GROUP, "arrived").toArrow()
    spans = [("arrived", "count", pc.CountOptions(mode="all")), ("arrived", "min"), ("arrived", "max")]
    found = told.group_by(_GROUP).aggregate(spans).to_pylist()
    counts: dict[str, int] = {}
    lasts: dict[tuple[str, str], datetime] = {}
    for r in found:
        path = attempt.path("arrivals", dated(r["day"]), r["part"])
        counts[path] = counts.get(path, 0) + r["arrived_count"]
        if r["arrived_max"] is not None:
            shard = r["stream"], r["shard"]
            lasts[shard] = max(r["arrived_max"], lasts.get(shard, r["arrived_max"]))
    return _Arrived(
        rows,
        told["key"].to_numpy(),
        min((r["arrived_min"] for r in found if r["arrived_min"] is not None), default=None),
        max(lasts.values(), default=None),
        min(lasts.values(), default=None),
        tuple(File("arrivals", path, rows, _size(attempt, path)) for path, rows in counts.items()),
    )


def _deduplicated(arrived: _Arrived, past: Identities, first: float) -> DataFrame:
    """``KEPT`` rows with ``duplicate``."""
    import pyarrow as pa
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    rows, spark = arrived.rows, arrived.rows.sparkSession
    suspects, files = past.suspects(arrived.keys, first)
    if not len(suspects):
        return rows.withColumn("duplicate", F.lit(False))
    listed = spark.createDataFrame(pa.table({"key": suspects}))
    place, paths = past.tables.place, [file.path for file in files]
    seen = read_files(spark, place, "stream STRING, identity STRING", paths)
    return marked_among(rows, listed, seen).persist()


def _size(attempt: Attempt, path: str) -> int:
    return int(attempt.place.filesystem.get_file_info(attempt.place.path(path)).size or 0)


def _utc(local: datetime) -> datetime:
    # Spark hands the driver naive times of the machine's own zone.
    return local.astimezone(UTC)


def _oldest_open(tables: Tables) -> float | None:
    return tables.commits[-1].oldest_open if tables.commits else None


def _sequences(
    spark: SparkSession, new: list[File], tables: Tables, attempt: Attempt, *, now: datetime, rules: Rules
) -> tuple[list[File], float | None]:
    """Join what is complete, give up what is overdue.

    The files, and the first arrival of the oldest left open. Of the parts that came before, only those since
    the oldest sequence left open can matter.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    oldest = _oldest_open(tables)
    paths = [file.path for file in new]
    if oldest is not None:
        paths += [file.path for file in tables.files("parts", since=oldest)]
    since = min(now.timestamp() - rules.sequence_limit * 2, oldest or now.timestamp())
    finished = tables.read(spark, "sequences", columns="stream STRING, sequence STRING", since=since)
    still = sequences.standing(read_files(spark, tables.place, _LEAN_PARTS, paths), finished)
    decided = sequences.decided(still, now, rules.sequence_limit).persist()
    waits = F.when(F.col("status").isNull(), F.col("first_arrived"))
    found = decided.agg(F.min(waits).alias("oldest"), F.count("status").alias("acting")).collect()[0]
    files: list[File] = []
    if found.acting:
        acting = decided.filter(F.col("status").isNotNull()).select(*sequences.KEY, "status")
        parts = read_files(spark, tables.place, COLUMNS["parts"], paths)
        whole = parts.join(F.broadcast(acting), sequences.KEY)
        files = write_routed(sequences.assembled(whole, as_published=rules.as_published), attempt)
    decided.unpersist()
    return files, _utc(found.oldest).timestamp() if found.oldest else None
