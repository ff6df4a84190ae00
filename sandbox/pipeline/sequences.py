"""Pipeline stage: join the parts of sequences, in any order and also when repeated."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sandbox.pipeline.files import Attempt, write_routed
from sandbox.pipeline.parsing import Subject, moment, subject
from sandbox.pipeline.schema import COLUMNS, arrow_schema
from sandbox.pipeline.table_log import File
from sandbox.pipeline.tables import Tables, read_files
from schemas.contract import Verdict
from schemas.rdss.contract import AS_PUBLISHED, RDSS
from schemas.rdss.peek import peek
from schemas.rdss.sequence import body_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

KEY = ["stream", "sequence"]
_LEAN_PARTS = ", ".join(c for c in COLUMNS["parts"].split(", ") if c != "data BINARY")
_SEQUENCES = COLUMNS["sequences"].split(", ")
_REJECTS = [column for column in COLUMNS["rejects"].split(", ") if column not in _SEQUENCES]
OUTCOME = ", ".join([*_SEQUENCES, *_REJECTS, "table STRING"])
"""Columns of ``join_parts``: those of ``sequences`` and ``rejects``, and the name of one of these tables."""


def write_finished(
    spark: SparkSession,
    new: list[File],
    tables: Tables,
    attempt: Attempt,
    *,
    now: datetime,
    limit: float,
    as_published: bool,
) -> tuple[list[File], float | None]:
    """Join complete sequences and give up those without a new part for ``limit`` seconds.

    ``new`` are files of ``parts``. Returns the files written, and the first arrival of the oldest sequence
    that stays open. Earlier parts matter only since the oldest sequence that was open before.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    oldest = tables.oldest_open
    paths = [file.path for file in new]
    if oldest is not None:
        paths += [file.path for file in tables.files("parts", since=oldest)]
    since = min(now.timestamp() - limit * 2, oldest or now.timestamp())
    finished = tables.read(spark, "sequences", columns="stream STRING, sequence STRING", since=since)
    still = summarise_open(read_files(spark, tables.place, _LEAN_PARTS, paths), finished)
    verdicts = decide_status(still, now, limit).persist()
    waits = F.when(F.col("status").isNull(), F.col("first_arrived"))
    found = verdicts.agg(F.min(waits).alias("oldest"), F.count("status").alias("acting")).collect()[0]
    files: list[File] = []
    if found.acting:
        acting = verdicts.filter(F.col("status").isNotNull()).select(*KEY, "status")
        parts = read_files(spark, tables.place, COLUMNS["parts"], paths)
        whole = parts.join(F.broadcast(acting), KEY)
        files = write_routed(join_parts(whole, limit, as_published=as_published), attempt)
    verdicts.unpersist()
    # Spark hands the driver naive times of the machine's own zone.
    return files, found.oldest.astimezone(UTC).timestamp() if found.oldest else None


def summarise_open(parts: DataFrame, finished: DataFrame) -> DataFrame:
    """Give one row for each open sequence: positions ``present`` and ``of``, first and last arrival."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    return (
        parts.join(finished.select(*KEY).distinct(), KEY, "left_anti")
        .groupBy(*KEY)
        .agg(
            F.countDistinct("position").alias("present"),
            F.max("total").alias("of"),
            F.min("arrived").alias("first_arrived"),
            F.max("arrived").alias("last_arrived"),
        )
    )


def decide_status(open_sequences: DataFrame, now: datetime, limit: float) -> DataFrame:
    """Add ``status``: ``joined`` if complete, ``overdue`` ``limit`` seconds after the last part, or null."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    late = F.col("last_arrived") < F.lit(now) - F.make_interval(secs=F.lit(limit))
    status = F.when(F.col("present") >= F.col("of"), "joined").when(late, "overdue")
    return open_sequences.withColumn("status", status)


def join_parts(parts: DataFrame, limit: float, *, as_published: bool = False) -> DataFrame:
    """Join parts with their data and ``status`` to rows of ``OUTCOME``.

    ``limit`` is the time in seconds after which they are overdue. Every sequence gives a row for
    ``sequences``. A joined message that is not valid gives one reject with its bytes. Parts that are overdue
    or do not belong together give one reject each, with their own bytes.
    """
    return parts.groupBy(*KEY).applyInArrow(
        lambda table: _assemble(table, limit, as_published=as_published), OUTCOME
    )


def _assemble(table: pa.Table, limit: float, *, as_published: bool) -> pa.Table:
    import pyarrow as pa

    fields = {f.name: f for t in ("rejects", "sequences") for f in arrow_schema(t)}
    names = [column.split()[0] for column in OUTCOME.split(", ")]
    schema = pa.schema([fields.get(name) or pa.field(name, pa.string()) for name in names])
    rows = decide_outcome(table.to_pylist(), limit, as_published=as_published)
    return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows], schema=schema)


def decide_outcome(
    parts: list[dict[str, Any]], limit: float, *, as_published: bool = False
) -> list[dict[str, Any]]:
    """Decide one sequence: return its row for ``sequences`` and its rejects."""
    sequences = (AS_PUBLISHED if as_published else RDSS).sequences
    parts = _one_of_each(parts)
    first, last = min(p["arrived"] for p in parts), max(p["arrived"] for p in parts)
    head = {
        "stream": parts[0]["stream"], "sequence": parts[0]["sequence"], "status": parts[0]["status"],
        "parts": len(parts), "total": max(p["total"] for p in parts), "first_arrived": first,
        "last_arrived": last, "arrived": last, "table": "sequences", "tenant": parts[0]["tenant"],
    }  # fmt: skip
    if head["status"] == "overdue":
        late = sequences.judge_overdue(head["sequence"], head["parts"], head["total"], limit)
        return _refused(head, parts, late)
    raw, verdict = sequences.judge_parts((part["data"] for part in parts), now=last.timestamp())
    if raw is None:
        return _refused(head | {"status": "refused"}, parts, verdict)
    seen, about = peek(raw), subject(verdict.upgraded or raw) if verdict.valid else Subject()
    head |= {
        "size": len(raw), "body_sha256": sha256(body_of(raw)).hexdigest(), "message_id": seen.message_id,
        "message_class": seen.message_class, "message_type": seen.message_type, "tenant": seen.tenant,
        "version": seen.version, "published": moment(seen.published), "object_uuid": about.object_uuid,
        "resource_type": about.resource_type, "title": about.title, "replaces": about.replaces,
        "previous": about.previous, "following": about.following,
    }  # fmt: skip
    if verdict.valid:
        return [head]
    head |= {"status": "refused", "code": str(verdict.code), "description": verdict.why}
    return [
        head,
        parts[0] | head | {"table": "rejects", "data": raw, "identity": f"reject {seen.message_id}"},
    ]


def _one_of_each(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    by_position: dict[int, dict[str, Any]] = {}
    for part in sorted(parts, key=lambda p: (p["arrived"], p["shard"], int(p["sequence_number"]))):
        by_position.setdefault(part["position"], part)
    return [by_position[position] for position in sorted(by_position)]


def _refused(head: dict[str, Any], parts: list[dict[str, Any]], verdict: Verdict) -> list[dict[str, Any]]:
    reason = {"code": str(verdict.code), "description": verdict.why}
    rejects = [
        part | reason | {"table": "rejects", "identity": part["identity"].replace("message", "reject", 1)}
        for part in parts
    ]
    return [head | reason, *rejects]
