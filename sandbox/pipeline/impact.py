"""The effect of faults: joins the fault events of a sandbox with the tables, by messageId."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from sandbox.pipeline.failures import UsageError
from sandbox.pipeline.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from rdss_sandbox.client import Client

INJECTED = "fault.injected"
_OUTCOMES = ("messages", "parts", "duplicates", "rejects")


class Injected(NamedTuple):
    """One injection of a fault: its type, time in seconds since the epoch, and message, if there is one."""

    type: str
    time: float
    message_id: str | None


class Impact(msgspec.Struct, frozen=True):
    """The outcomes of the messages that one type of fault struck.

    ``messages`` counts them by messageId. ``duplicates`` and ``rejects`` count their arrivals with these
    outcomes. Latency is the time from published to arrived in milliseconds. ``p50_others`` is the latency of
    messages that no fault struck. Latencies are None without messages.
    """

    type: str
    injected: int
    messages: int
    arrivals: int
    duplicates: int
    rejects: int
    p50: int | None
    p95: int | None
    p50_others: int | None


class _Fields(msgspec.Struct):
    type: str = ""
    message_id: str | None = None


class _Line(msgspec.Struct):
    """An event; its fields are top-level as in the control API, or in ``fields`` as in the file of a run."""

    time: float
    kind: str
    type: str = ""
    message_id: str | None = None
    fields: _Fields | None = None


def read_injections(events: Path) -> list[Injected]:
    """Read the injections from a run's ``events.ndjson``. Raises UsageError for another file."""
    decode = msgspec.json.Decoder(_Line).decode
    try:
        lines = [decode(line) for line in events.read_bytes().splitlines() if line.strip()]
    except (OSError, msgspec.MsgspecError) as wrong:
        raise UsageError(f"{events} is not a file of events: {wrong}") from None
    found = [line for line in lines if line.kind == INJECTED]
    apart = [line.fields or _Fields(line.type, line.message_id) for line in found]
    return [Injected(f.type, line.time, f.message_id) for line, f in zip(found, apart, strict=True)]


def fetch_injections(control: Client, since: int = 0) -> list[Injected]:
    """Fetch the injections from a running sandbox, in events with an id above ``since``."""
    found: list[Injected] = []
    last = since
    while page := control.events(after=last):
        found += [
            Injected(str(event.fields["type"]), event.time, event.fields.get("message_id"))
            for event in page
            if event.kind == INJECTED
        ]
        last = page[-1].id
    return found


def count_by_interval(
    injected: Iterable[Injected], starts: Sequence[float], seconds: float
) -> list[dict[str, int]]:
    """Count the injections by type in intervals that begin at ``starts`` and last ``seconds``."""
    counts: list[dict[str, int]] = [{} for _ in starts]
    for fault in injected:
        for start, count in zip(starts, counts, strict=True):
            if start <= fault.time < start + seconds:
                count[fault.type] = count.get(fault.type, 0) + 1
    return counts


def measure_impacts(spark: SparkSession, tables: Tables, injected: Sequence[Injected]) -> list[Impact]:
    """Measure the impact of each type of fault; sorted by type."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    if not injected:
        return []
    struck = {(fault.message_id, fault.type) for fault in injected if fault.message_id}
    struck_ids = spark.createDataFrame(sorted(struck), "message_id STRING, type STRING")
    rows = _arrivals(spark, tables).join(F.broadcast(struck_ids), "message_id", "left")
    found = {
        row.type: row
        for row in rows.groupBy("type")
        .agg(
            F.count("*").alias("arrivals"),
            F.count_if(F.col("outcome") == "duplicates").alias("duplicates"),
            F.count_if(F.col("outcome") == "rejects").alias("rejects"),
            _latency(F.percentile_approx, [0.5, 0.95]).alias("latency"),
        )
        .collect()
    }
    others = _middle(found.get(None))[0]
    types = sorted({fault.type for fault in injected})
    return [_measure_impact(kind, injected, struck, found.get(kind), others) for kind in types]


def _measure_impact(
    kind: str, injected: Sequence[Injected], struck: Iterable[tuple[str, str]], row: Any, others: int | None
) -> Impact:
    p50, p95 = _middle(row)
    return Impact(
        kind,
        injected=sum(fault.type == kind for fault in injected),
        messages=sum(of == kind for _, of in struck),
        arrivals=row.arrivals if row else 0,
        duplicates=row.duplicates if row else 0,
        rejects=row.rejects if row else 0,
        p50=p50,
        p95=p95,
        p50_others=others,
    )


def _middle(row: Any) -> tuple[int | None, int | None]:
    p50, p95 = row.latency if row and row.latency else (None, None)
    return p50, p95


def _latency(percentile: Any, ranks: list[float]) -> Column:
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    passed = F.greatest(F.unix_millis("arrived") - F.unix_millis("published"), F.lit(0))
    first = F.col("outcome").isin("messages", "parts") & F.col("published").isNotNull()
    column: Column = percentile(F.when(first, passed), ranks)
    return column


def _arrivals(spark: SparkSession, tables: Tables) -> DataFrame:
    """All arrivals with their messageId and ``outcome``, the table of the arrival."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    columns = "message_id STRING, arrived TIMESTAMP, published TIMESTAMP"
    frames = (
        tables.read(spark, name, columns=columns).withColumn("outcome", F.lit(name)) for name in _OUTCOMES
    )
    return reduce(lambda one, other: one.unionByName(other), frames)
