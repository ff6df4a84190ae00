"""The report of a set of tables: the numbers for the page, the terminal summary and ``--json``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from sandbox.pipeline import figures
from sandbox.pipeline.impact import Impact, Injected, count_by_interval, measure_impacts
from sandbox.pipeline.publication import publish
from sandbox.pipeline.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_MOST_INTERVALS = 240
_MOST_TENANTS = 50
_MOST_REJECTS = 20


class Interval(msgspec.Struct, frozen=True):
    """An interval of arrivals: its start in RFC 3339, messages by outcome, latency in milliseconds."""

    start: str
    messages: int
    duplicates: int
    rejects: int
    bytes: int
    p50: int | None
    p95: int | None
    faults: dict[str, int] = {}
    """The number of injections in the interval, by type of fault."""


class Tenant(msgspec.Struct, frozen=True):
    """The numbers of one tenantJiscID; None stands for an unreadable one. Latency is in milliseconds."""

    tenant: int | None
    messages: int
    duplicates: int
    rejects: int
    p50: int | None
    p95: int | None
    longest: int | None


class Reject(msgspec.Struct, frozen=True):
    """A rejected message and why."""

    code: str
    description: str
    stream: str
    message_id: str | None
    size: int


class Report(msgspec.Struct, frozen=True):
    """The whole report.

    ``rejects`` counts by code what the pipeline rejected, ``queued`` what receivers put on their queues.
    ``interval_minutes`` is the length of an interval; it is above one if there would be too many intervals.
    """

    place: str
    first: str | None
    last: str | None
    rows: dict[str, int]
    rejects: dict[str, int]
    queued: dict[str, int]
    sequences: dict[str, int]
    objects: dict[str, int]
    streams: dict[str, dict[str, int]]
    interval_minutes: int
    intervals: tuple[Interval, ...]
    tenants: tuple[Tenant, ...]
    examples: tuple[Reject, ...]
    impact: tuple[Impact, ...] = ()


def build_report(
    spark: SparkSession, tables: Tables, token: str, injected: Sequence[Injected] = ()
) -> Report:
    """Publish new changes and build the report, with the faults that were ``injected``."""
    publish(spark, tables, token)
    sums = tables.read(spark, "figures").persist()
    firsts = [c.first for c in tables.commits if c.first is not None]
    lasts = [c.last for c in tables.commits if c.last is not None]
    minutes = _interval_minutes(min(firsts), max(lasts)) if firsts and lasts else 1
    found = Report(
        place=tables.place.uri,
        first=_text(min(firsts, default=None)),
        last=_text(max(lasts, default=None)),
        rows=tables.rows(),
        rejects=_by_code(sums, "rejects"),
        queued=_by_code(sums, "queued"),
        sequences=_sequences(spark, tables),
        objects=_objects(tables.read(spark, "objects")),
        streams=_streams(sums),
        interval_minutes=minutes,
        intervals=tuple(_with_faults(_intervals(sums, minutes), injected, minutes)),
        tenants=tuple(_tenants(sums)),
        examples=tuple(_examples(tables.read(spark, "rejects"))),
        impact=tuple(measure_impacts(spark, tables, injected)),
    )
    sums.unpersist()
    return found


def _interval_minutes(first: float, last: float) -> int:
    span = (last - first) / 60
    return next((m for m in (1, 5, 15, 60, 360, 1440, 10080) if span / m <= _MOST_INTERVALS), 43200)


def _text(seconds: float | None) -> str | None:
    from rdss_sandbox.timestamps import timestamp

    return None if seconds is None else timestamp(seconds)


def _by_code(sums: DataFrame, outcome: str) -> dict[str, int]:
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    rows = (
        sums.filter(F.col("outcome") == outcome).groupBy("code").agg(F.sum("messages").alias("n")).collect()
    )
    return {row.code or "none": row.n for row in sorted(rows, key=lambda row: row.code or "")}


def _sequences(spark: SparkSession, tables: Tables) -> dict[str, int]:
    """Count finished sequences by status, and open ones."""
    from sandbox.pipeline.sequences import summarise_open

    finished = tables.read(spark, "sequences")
    counts = {row.status: row["count"] for row in finished.groupBy("status").count().collect()}
    return counts | {"open": summarise_open(tables.read(spark, "parts"), finished).count()}


def _objects(objects: DataFrame) -> dict[str, int]:
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    row = objects.agg(
        F.count("*").alias("known"),
        F.count_if("deleted").alias("deleted"),
        F.count_if(F.col("replaced_by").isNotNull()).alias("replaced"),
        F.count_if(F.col("preserved").isNotNull()).alias("preserved"),
    ).collect()[0]
    return {key: int(value) for key, value in row.asDict().items()}


def _streams(sums: DataFrame) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for row in sums.groupBy("stream", "outcome").sum("messages").collect():
        found.setdefault(row.stream or "(unknown)", {})[row.outcome] = row["sum(messages)"]
    return dict(sorted(found.items()))


def _counts(row: Row) -> dict[str, int]:
    return {"messages": row.good or 0, "duplicates": row.again or 0, "rejects": row.bad or 0}


def _split(sums: DataFrame, *by: Any) -> DataFrame:
    """Aggregate the figures by some keys, with columns for good, repeated and bad messages."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    def of(*outcomes: str) -> Any:
        return F.sum(F.when(F.col("outcome").isin(*outcomes), F.col("messages")))

    sketch = F.kll_merge_agg_bigint(F.when(F.col("outcome").isin("messages", "parts"), F.col("latency")))
    return (
        sums.filter(F.col("outcome") != "queued")
        .groupBy(*by)
        .agg(
            of("messages", "parts").alias("good"),
            of("duplicates").alias("again"),
            of("rejects").alias("bad"),
            F.sum("bytes").alias("bytes"),
            F.max("latency_ms_max").alias("longest"),
            sketch.alias("sketch"),
        )
        .withColumn("p50", figures.quantile("sketch", 0.5))
        .withColumn("p95", figures.quantile("sketch", 0.95))
        .drop("sketch")
    )


def _intervals(sums: DataFrame, minutes: int) -> list[Interval]:
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    start = F.window("minute", f"{minutes} minutes").start.alias("start")
    rows = _split(sums.filter(F.col("minute").isNotNull()), start).orderBy("start").collect()
    return [
        Interval(
            f"{row.start.astimezone():%Y-%m-%dT%H:%M:%S%z}",
            row.good or 0,
            row.again or 0,
            row.bad or 0,
            row.bytes or 0,
            row.p50,
            row.p95,
        )
        for row in rows
    ]


def _with_faults(intervals: list[Interval], injected: Sequence[Injected], minutes: int) -> list[Interval]:
    starts = [datetime.fromisoformat(interval.start).timestamp() for interval in intervals]
    struck = count_by_interval(injected, starts, minutes * 60.0)
    return [
        msgspec.structs.replace(interval, faults=faults)
        for interval, faults in zip(intervals, struck, strict=True)
    ]


def _tenants(sums: DataFrame) -> list[Tenant]:
    rows = _split(sums, "tenant").orderBy("good", ascending=False).limit(_MOST_TENANTS).collect()
    return [Tenant(row.tenant, **_counts(row), p50=row.p50, p95=row.p95, longest=row.longest) for row in rows]


def _examples(rejects: DataFrame) -> list[Reject]:
    columns = ("code", "description", "stream", "message_id", "size")
    rows = rejects.select(*columns).limit(_MOST_REJECTS).collect()
    return sorted((Reject(*row) for row in rows), key=lambda reject: reject.code)
