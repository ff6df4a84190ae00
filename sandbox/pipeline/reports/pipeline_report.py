"""The report of a set of tables: the numbers for the page, the terminal summary and ``--json``."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from rdss_sandbox.text.timestamps import timestamp
from sandbox.pipeline.reports.database import fetch_rows, open_database
from sandbox.pipeline.reports.impact import FaultInjection, Impact, count_by_interval, measure_impacts
from sandbox.pipeline.storage.table_store import Tables

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_UNKNOWN = {"tenant": "INTEGER", "published": "TIMESTAMPTZ", "message_id": "VARCHAR"}
"""Columns that not every contract has, with the types of the nulls in their place."""
_MOST_INTERVALS = 240
_MOST_TENANTS = 50
_MOST_SPANS = 40
_LENGTHS = (1, 2, 5, 10, 30, 60, 300, 900, 3600, 21_600, 86_400, 604_800)
"""Lengths of an interval in seconds."""
_FIRST = "outcome IN ('messages', 'parts')"
_LATENCY = f"""
    CASE WHEN {_FIRST} AND published IS NOT NULL THEN greatest(epoch_ms(arrived) - epoch_ms(published), 0) END
"""
"""Milliseconds from published to arrived of a first arrival; 0 if the sender's clock is ahead."""
_COUNTS = f"""
    count(*) FILTER ({_FIRST}) AS messages,
    count(*) FILTER (outcome = 'duplicates') AS duplicates,
    count(*) FILTER (outcome = 'rejects') AS rejects,
    quantile_disc(latency, 0.5) AS p50,
    quantile_disc(latency, 0.95) AS p95
"""
_EMPTY: dict[str, Any] = {
    "messages": 0, "duplicates": 0, "rejects": 0, "bytes": 0, "p50": None, "p95": None,
}  # fmt: skip


class Interval(msgspec.Struct, frozen=True):
    """An interval of arrivals: its start in RFC 3339, arrivals by outcome, latency in milliseconds."""

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
    """The numbers of one tenant; None stands for an unreadable one. Latency is in milliseconds."""

    tenant: int | None
    messages: int
    duplicates: int
    rejects: int
    p50: int | None
    p95: int | None
    longest: int | None


class Reject(msgspec.Struct, frozen=True):
    """The first rejected message of a code, and why; its record's place is its stream, shard and number."""

    code: str
    description: str
    stream: str
    message_id: str | None
    size: int
    arrived: str | None = None
    shard: str | None = None
    sequence_number: str | None = None


class SequenceSpan(msgspec.Struct, frozen=True):
    """A sequence from its first part to its last, in RFC 3339; ``status`` may be ``open`` too."""

    stream: str
    sequence: str
    status: str
    parts: int
    total: int
    first: str
    last: str


class Report(msgspec.Struct, frozen=True):
    """The whole report.

    ``rejects`` counts by code what the pipeline rejected, ``queued`` what receivers put on their queues.
    ``interval_seconds`` is the length of an interval: as short as the most intervals that a page shows
    allow. Intervals without arrivals are listed too. ``objects`` is as of the last time it was published.
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
    interval_seconds: int
    intervals: tuple[Interval, ...]
    tenants: tuple[Tenant, ...]
    examples: tuple[Reject, ...]
    spans: tuple[SequenceSpan, ...] = ()
    impact: tuple[Impact, ...] = ()


def build_report(tables: Tables, injected: Sequence[FaultInjection] = ()) -> Report:
    """Build the report, with the faults that were ``injected``."""
    first, last = tables.span
    seconds = _interval_seconds(first, last)
    known = frozenset(column.name for column in tables.schema["messages"].columns)
    with open_database(tables) as database:
        _view_outcomes(database, known)
        unfinished = _open(database) if "sequence" in known else []
        return Report(
            place=tables.place.uri,
            first=_text(first),
            last=_text(last),
            rows=tables.rows(),
            rejects=_by_code(database, "rejects"),
            queued=_by_code(database, "queued"),
            sequences=_sequences(database, unfinished),
            objects=_objects(database),
            streams=_streams(database),
            interval_seconds=seconds,
            intervals=tuple(_intervals(database, seconds, injected)),
            tenants=tuple(_tenants(database)) if "tenant" in known else (),
            examples=tuple(_examples(database)),
            spans=tuple(_spans(database, unfinished)),
            impact=tuple(measure_impacts(database, injected)),
        )


def _interval_seconds(first: float | None, last: float | None) -> int:
    passed = (last or 0.0) - (first or 0.0)
    return next((seconds for seconds in _LENGTHS if passed / seconds < _MOST_INTERVALS - 1), 30 * 86_400)


def _text(seconds: float | None) -> str | None:
    return None if seconds is None else timestamp(seconds)


def _view_outcomes(database: DuckDBPyConnection, known: Container[str]) -> None:
    """Make the table ``outcomes``: every arrival, with the table it went to and its latency.

    ``known`` are the columns of messages.
    What a sequence that was refused left in ``rejects`` had arrived as parts; it has the outcome ``refused``.
    """
    columns = ", ".join(
        name if name in known else f"NULL::{_UNKNOWN[name]} AS {name}"
        for name in ("stream", "tenant", "size", "arrived", "published", "message_id")
    )
    united = " UNION ALL ".join(
        f"SELECT {columns}, '{name}' AS outcome FROM {name}"
        for name in ("messages", "parts", "duplicates", "queued")
    )
    record = "stream, shard, sequence_number"
    database.execute(f"""
        CREATE TEMP TABLE outcomes AS SELECT *, {_LATENCY} AS latency FROM (
            {united} UNION ALL
            SELECT {columns}, CASE WHEN part IS NULL THEN 'rejects' ELSE 'refused' END AS outcome
            FROM rejects LEFT JOIN (SELECT DISTINCT {record}, true AS part FROM parts) USING ({record})
        )
    """)


def _by_code(database: DuckDBPyConnection, table: str) -> dict[str, int]:
    found = database.sql(f"SELECT coalesce(code, 'none') AS c, count(*) FROM {table} GROUP BY c ORDER BY c")
    return dict(found.fetchall())


def _sequences(database: DuckDBPyConnection, unfinished: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Count finished sequences by status, and open ones."""
    finished = dict(database.sql("SELECT status, count(*) FROM sequences GROUP BY status").fetchall())
    return finished | {"open": len(unfinished)}


def _open(database: DuckDBPyConnection) -> list[dict[str, Any]]:
    return fetch_rows(
        database.sql("""
            SELECT stream, sequence, 'open' AS status, count(DISTINCT position) AS parts, max(total) AS total,
                   epoch(min(arrived)) AS first, epoch(max(arrived)) AS last
            FROM parts ANTI JOIN sequences USING (stream, sequence)
            GROUP BY stream, sequence
        """)
    )


def _spans(database: DuckDBPyConnection, unfinished: Sequence[dict[str, Any]]) -> list[SequenceSpan]:
    """The latest sequences."""
    finished = database.sql(f"""
        SELECT stream, sequence, status, parts, total,
               epoch(first_arrived) AS first, epoch(last_arrived) AS last
        FROM sequences ORDER BY first_arrived DESC, sequence LIMIT {_MOST_SPANS}
    """)
    every = [*fetch_rows(finished), *unfinished]
    latest = sorted(every, key=lambda row: (row["first"], row["sequence"]))[-_MOST_SPANS:]
    return [
        SequenceSpan(**row | {"first": timestamp(row["first"]), "last": timestamp(row["last"])})
        for row in latest
    ]


def _objects(database: DuckDBPyConnection) -> dict[str, int]:
    found = database.sql("""
        SELECT count(*) AS known, count(*) FILTER (deleted) AS deleted, count(replaced_by) AS replaced,
               count(preserved) AS preserved
        FROM objects
    """)
    (counts,) = fetch_rows(found)
    return counts


def _streams(database: DuckDBPyConnection) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    rows = database.sql(
        "SELECT stream, outcome, count(*) FROM outcomes WHERE outcome <> 'refused' GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    for stream, outcome, count in rows:
        found.setdefault(stream or "(unknown)", {})[outcome] = count
    return found


def _intervals(
    database: DuckDBPyConnection, seconds: int, injected: Sequence[FaultInjection]
) -> list[Interval]:
    start = f"epoch_ms(arrived) // {seconds * 1000} * {seconds}"
    rows = fetch_rows(
        database.sql(
            f"SELECT {start} AS start, {_COUNTS}, sum(size)::BIGINT AS bytes FROM outcomes "
            "WHERE arrived IS NOT NULL AND outcome NOT IN ('queued', 'refused') GROUP BY start ORDER BY start"
        )
    )
    if not rows:
        return []
    found = {row["start"]: row for row in rows}
    starts = range(rows[0]["start"], rows[-1]["start"] + 1, seconds)
    struck = count_by_interval(injected, starts, seconds)
    return [
        Interval(**found.get(at, _EMPTY) | {"start": timestamp(at), "faults": faults})
        for at, faults in zip(starts, struck, strict=True)
    ]


def _tenants(database: DuckDBPyConnection) -> list[Tenant]:
    rows = database.sql(
        f"SELECT tenant, {_COUNTS}, max(latency) AS longest FROM outcomes "
        "WHERE outcome NOT IN ('queued', 'refused') "
        f"GROUP BY tenant ORDER BY messages DESC, tenant LIMIT {_MOST_TENANTS}"
    )
    return [Tenant(**row) for row in fetch_rows(rows)]


def _examples(database: DuckDBPyConnection) -> list[Reject]:
    rows = database.sql("""
        SELECT code, description, stream, message_id, size, epoch(arrived) AS arrived, shard, sequence_number
        FROM rejects
        QUALIFY row_number() OVER (
            PARTITION BY code
            ORDER BY arrived, stream, shard, length(sequence_number), sequence_number, identity
        ) = 1
        ORDER BY code
    """)
    return [Reject(**row | {"arrived": _text(row["arrived"])}) for row in fetch_rows(rows)]
