"""One batch: the stages in their order, from records to a commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sandbox.pipeline import figures, sequences
from sandbox.pipeline.deduplication import marked
from sandbox.pipeline.files import Attempt, keep, keep_data, write_routed
from sandbox.pipeline.parsing import judging
from sandbox.pipeline.routing import routed
from sandbox.pipeline.tables import COLUMNS, Commit, File, Tables, read_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SLIM = f"{COLUMNS['arrivals']}, file STRING"
_PART = ["stream", "sequence", "shard", "sequence_number"]


@dataclass(frozen=True)
class Rules:
    """What the stages go by. ``dedupe_window`` and ``sequence_limit`` are seconds of arrival time."""

    queues: tuple[str, ...] = ("error", "invalid")
    dedupe_window: float = 86_400.0
    sequence_limit: float = 900.0


@dataclass(frozen=True)
class _Arrived:
    """The rows of a batch without their data, and what they hold."""

    rows: DataFrame
    first: datetime | None
    last: datetime | None
    even: datetime | None
    """How far every shard of the batch has come: what sequences are late by."""
    files: tuple[File, ...]
    parts: int


def process(records: DataFrame, tables: Tables, rules: Rules, attempt: Attempt, run: str) -> Commit:
    """Take a batch of ``RECORDS`` through every stage and commit what came of it."""
    spark = records.sparkSession
    arrived = _stored(records, rules, attempt)
    now = arrived.even
    if now is None or arrived.first is None or arrived.last is None:
        commit = Commit(attempt.batch, run, None, None, _oldest_open(tables), ())
        tables.commit(commit)
        return commit
    seen = _seen(spark, tables, arrived.first.timestamp() - rules.dedupe_window)
    rows = routed(marked(arrived.rows, seen), rules.queues).persist()
    files = [*arrived.files, *write_routed(rows, attempt), *keep(figures.counted(rows), "figures", attempt)]
    oldest = _oldest_open(tables)
    if arrived.parts or (oldest is not None and oldest < now.timestamp() - rules.sequence_limit):
        more, oldest = _sequences(rows, tables, rules, attempt, now)
        files += more
    first, last = arrived.first.timestamp(), arrived.last.timestamp()
    commit = Commit(attempt.batch, run, first, last, oldest, tuple(files))
    tables.commit(commit)
    rows.unpersist()
    arrived.rows.unpersist()
    return commit


def _stored(records: DataFrame, rules: Rules, attempt: Attempt) -> _Arrived:
    """Judge the records and store each whole; what goes on has its data only where it was rejected."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - heavy

    judge, keep_whole = judging(rules.queues), keep_data(attempt, "arrivals")
    # Both in one worker: between two, Spark would carry every message through the JVM again.
    rows = records.mapInArrow(lambda batches: keep_whole(judge(batches)), _SLIM).persist()
    found = (
        rows.groupBy("stream", "shard", "file")
        .agg(
            F.count("*").alias("rows"),
            F.min("arrived").alias("first"),
            F.max("arrived").alias("last"),
            F.count_if((F.col("total") > 1) & F.col("code").isNull()).alias("parts"),
        )
        .collect()
    )
    lasts: dict[tuple[str, str], datetime] = {}
    counts: dict[str, int] = {}
    for r in found:
        lasts[r.stream, r.shard] = max(_utc(r["last"]), lasts.get((r.stream, r.shard), _utc(r["last"])))
        counts[r.file] = counts.get(r.file, 0) + r.rows
    return _Arrived(
        rows,
        min((_utc(r["first"]) for r in found), default=None),
        max(lasts.values(), default=None),
        min(lasts.values(), default=None),
        tuple(File("arrivals", path, rows, _size(attempt, path)) for path, rows in counts.items()),
        sum(r.parts for r in found),
    )


def _size(attempt: Attempt, path: str) -> int:
    return int(attempt.place.filesystem.get_file_info(attempt.place.path(path)).size or 0)


def _utc(local: datetime) -> datetime:
    # Spark hands the driver naive times of the machine's own zone.
    return local.astimezone(UTC)


def _seen(spark: SparkSession, tables: Tables, since: float) -> DataFrame:
    """Identities of earlier batches within the window."""
    kept = ("messages", "parts", "rejects", "queued")
    paths = [file.path for table in kept for file in tables.files(table, since=since)]
    return read_files(spark, tables.place, "stream STRING, identity STRING", paths)


def _oldest_open(tables: Tables) -> float | None:
    return tables.commits[-1].oldest_open if tables.commits else None


def _sequences(
    rows: DataFrame, tables: Tables, rules: Rules, attempt: Attempt, now: datetime
) -> tuple[list[File], float | None]:
    """Join what is complete, give up what is overdue.

    The files, and the first arrival of the oldest left open.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - heavy

    spark = rows.sparkSession
    since = min(now.timestamp() - rules.sequence_limit * 2, _oldest_open(tables) or now.timestamp())
    columns = [column.split()[0] for column in COLUMNS["parts"].split(", ")]
    parts = (
        rows.filter(F.col("table") == "parts")
        .select(*columns)
        .unionByName(tables.read(spark, "parts", since=since))
        .persist()
    )
    finished = tables.read(spark, "sequences", columns="stream STRING, sequence STRING", since=since)
    still = sequences.standing(parts, finished).persist()
    acting = sequences.due(still, now, rules.sequence_limit)
    chosen = parts.join(F.broadcast(acting.select(*sequences.KEY, "status")), sequences.KEY).persist()
    left = still.join(acting.select(*sequences.KEY), sequences.KEY, "left_anti")
    oldest = left.agg(F.min("first_arrived").alias("oldest")).collect()[0].oldest
    paths = [row.file for row in chosen.select("file").distinct().collect()]
    files = (
        write_routed(sequences.assembled(_with_data(spark, chosen, tables, paths)), attempt) if paths else []
    )
    for frame in (parts, still, chosen):
        frame.unpersist()
    return files, _utc(oldest).timestamp() if oldest else None


def _with_data(spark: SparkSession, parts: DataFrame, tables: Tables, paths: Sequence[str]) -> DataFrame:
    """Parts with the bytes they arrived with, from the files that hold them."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - heavy

    columns = "stream STRING, sequence STRING, shard STRING, sequence_number STRING, total INT, data BINARY"
    stored = read_files(spark, tables.place, columns, paths).filter(F.col("total") > 1).drop("total")
    return stored.join(F.broadcast(parts), _PART)
