"""The effect of faults: joins the fault events of a sandbox with the tables, by messageId."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from sandbox.pipeline.reports.database import fetch_rows
from sandbox.pipeline.spark.failures import UsageError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from rdss_sandbox.client import Client

INJECTED = "fault.injected"
_NONE: dict[str, Any] = {"arrivals": 0, "duplicates": 0, "rejects": 0, "p50": None, "p95": None}


class FaultInjection(NamedTuple):
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


def read_injections(events: Path) -> list[FaultInjection]:
    """Read the injections from a run's ``events.ndjson``. Raises UsageError for another file."""
    decode = msgspec.json.Decoder(_Line).decode
    try:
        lines = [decode(line) for line in events.read_bytes().splitlines() if line.strip()]
    except (OSError, msgspec.MsgspecError) as wrong:
        raise UsageError(f"{events} is not a file of events: {wrong}") from None
    found = [line for line in lines if line.kind == INJECTED]
    apart = [line.fields or _Fields(line.type, line.message_id) for line in found]
    return [FaultInjection(f.type, line.time, f.message_id) for line, f in zip(found, apart, strict=True)]


def fetch_injections(control: Client, since: int = 0) -> list[FaultInjection]:
    """Fetch the injections from a running sandbox, in events with an id above ``since``."""
    found: list[FaultInjection] = []
    last = since
    while page := control.events(after=last):
        found += [
            FaultInjection(str(event.fields["type"]), event.time, event.fields.get("message_id"))
            for event in page
            if event.kind == INJECTED
        ]
        last = page[-1].id
    return found


def count_by_interval(
    injected: Iterable[FaultInjection], starts: Sequence[float], seconds: float
) -> list[dict[str, int]]:
    """Count the injections by type in intervals that begin at ``starts`` and last ``seconds``."""
    counts: list[dict[str, int]] = [{} for _ in starts]
    for fault in injected:
        for start, count in zip(starts, counts, strict=True):
            if start <= fault.time < start + seconds:
                count[fault.type] = count.get(fault.type, 0) + 1
    return counts


def measure_impacts(database: DuckDBPyConnection, injected: Sequence[FaultInjection]) -> list[Impact]:
    """Measure the impact of each type of fault in the view ``outcomes`` of a report; sorted by type."""
    import pyarrow as pa

    if not injected:
        return []
    struck = {(fault.message_id, fault.type) for fault in injected if fault.message_id}
    ids, kinds = ([pair[at] for pair in sorted(struck)] for at in (0, 1))
    database.register(
        "struck", pa.table({"message_id": pa.array(ids, pa.string()), "type": pa.array(kinds, pa.string())})
    )
    rows = database.sql("""
        SELECT type, count(*) FILTER (outcome <> 'refused') AS arrivals,
               count(*) FILTER (outcome = 'duplicates') AS duplicates,
               count(*) FILTER (outcome IN ('rejects', 'refused')) AS rejects,
               quantile_disc(latency, 0.5) AS p50, quantile_disc(latency, 0.95) AS p95
        FROM outcomes LEFT JOIN struck USING (message_id) WHERE outcome <> 'queued' GROUP BY type
    """)
    found = {row["type"]: row for row in fetch_rows(rows)}
    counted = {
        kind: {
            "injected": sum(fault.type == kind for fault in injected),
            "messages": sum(of == kind for _, of in struck),
            "p50_others": found.get(None, _NONE)["p50"],
        }
        for kind in sorted({fault.type for fault in injected})
    }
    return [Impact(**found.get(kind, _NONE) | {"type": kind} | counts) for kind, counts in counted.items()]
