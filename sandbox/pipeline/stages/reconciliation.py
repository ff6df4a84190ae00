"""Pipeline stage: compare dispatched records with stored ones, and find where records are missing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING

import msgspec

from sandbox.pipeline.storage.table_store import Tables
from schemas.bound import CONTRACT

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PLACE = ["stream", "shard", "sequence_number"]
PLACES = "stream STRING, shard STRING, sequence_number STRING, message_id STRING"
"""A record by its stream, shard and sequence number, with its messageId if that is readable."""

OUTCOMES = ("messages", "parts", "duplicates", "rejects", "queued")


class Missing(msgspec.Struct, frozen=True):
    """A record that is missing somewhere; ``missing_from`` has ``audit log``, ``tables`` or ``receiver``."""

    stream: str
    shard: str
    sequence_number: str
    message_id: str | None
    missing_from: tuple[str, ...]

    @property
    def place(self) -> str:
        """The stream, shard and sequence number as one text."""
        return f"{self.stream}/{self.shard}/{self.sequence_number}"


class Reconciliation(msgspec.Struct, frozen=True):
    """The numbers of records that were dispatched, and of those found in each place.

    ``received`` counts messages; it is None when no receiver was compared. ``missing`` lists the first
    missing records. ``strangers`` counts rows of the tables and of the audit log that are in no stream.
    """

    dispatched: int
    audited: int
    in_tables: int
    received: int | None
    missing_from: dict[str, int]
    strangers: dict[str, int]
    missing: tuple[Missing, ...]

    @property
    def exact(self) -> bool:
        """Whether no record is missing and no row is unknown to the streams."""
        return not any(self.missing_from.values()) and not any(self.strangers.values())

    def lines(self) -> list[tuple[str, int]]:
        """The lines of the summary for a person."""
        asked = [] if self.received is None else [("finished by the receiver", self.received)]
        return [
            ("dispatched", self.dispatched),
            ("in the audit log", self.audited),
            ("in the tables", self.in_tables),
            *asked,
            *((f"missing from the {name}", count) for name, count in self.missing_from.items()),
            *((f"unknown to the streams, in the {name}", count) for name, count in self.strangers.items()),
        ]


def list_places(records: DataFrame) -> DataFrame:
    """Convert the records of a source to ``PLACES``."""
    return records.mapInArrow(_places, PLACES)


def _places(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        records = zip(batch.column("data").to_pylist(), batch.column("partitionKey").to_pylist(), strict=True)
        ids = [CONTRACT.peek(data or b"", key or "").message_id for data, key in records]
        columns = [batch.column(name) for name in ("streamName", "shardId", "sequenceNumber")]
        yield pa.RecordBatch.from_arrays([*columns, pa.array(ids, pa.string())], names=[*PLACE, "message_id"])


def table_places(spark: SparkSession, tables: Tables) -> DataFrame:
    """The places of all rows of the tables, with ``outcome``, the table of a row."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    first, *others = (
        tables.read(spark, name).select(*PLACE, "message_id", F.lit(name).alias("outcome"))
        for name in OUTCOMES
    )
    for other in others:
        first = first.unionByName(other)
    return first


def compare_places(
    dispatched: DataFrame, audited: DataFrame, in_tables: DataFrame, received: DataFrame | None = None
) -> DataFrame:
    """Give one row for each known place: ``dispatched``, ``audited``, ``in_tables`` and ``received``.

    The argument ``received`` has the ``message_id`` of messages that a receiver has finished. The column
    ``received`` is null for rows that a receiver does not finish, such as duplicates and rejects.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    def flagged(rows: DataFrame, flag: str) -> DataFrame:
        return rows.select(*PLACE, F.lit(True).alias(flag)).distinct()

    named = dispatched.select(*PLACE, "message_id").distinct()
    outcome = in_tables.select(*PLACE, "outcome").distinct()
    found = (
        flagged(dispatched, "dispatched")
        .join(flagged(audited, "audited"), PLACE, "full")
        .join(flagged(in_tables, "in_tables"), PLACE, "full")
        .join(named, PLACE, "left")
        .join(outcome, PLACE, "left")
        .fillna(False, ["dispatched", "audited", "in_tables"])
    )
    if received is None:
        return found.withColumn("received", F.lit(None).cast("boolean"))
    done = received.select("message_id", F.lit(True).alias("done")).distinct()
    due = F.col("outcome").isin("messages", "parts")
    return (
        found.join(done, "message_id", "left")
        .withColumn("received", F.when(due, F.coalesce("done", F.lit(False))))
        .drop("done")
    )


def summarise(rows: DataFrame, most: int = 100) -> Reconciliation:
    """Summarise compared rows; list at most ``most`` missing records."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    rows = rows.persist()
    gone = {
        "audit log": F.col("dispatched") & ~F.col("audited"),
        "tables": F.col("dispatched") & ~F.col("in_tables"),
        "receiver": F.col("dispatched") & ~F.coalesce("received", F.lit(True)),
    }
    strange = {
        "audit log": F.col("audited") & ~F.col("dispatched"),
        "tables": F.col("in_tables") & ~F.col("dispatched"),
    }
    count = rows.agg(
        *(F.count_if(F.col(name)).alias(name) for name in ("dispatched", "audited", "in_tables", "received")),
        F.count("received").alias("asked"),
        *(F.count_if(rule).alias(f"gone {name}") for name, rule in gone.items()),
        *(F.count_if(rule).alias(f"strange {name}") for name, rule in strange.items()),
    ).collect()[0]
    somewhere = reduce(lambda one, other: one | other, gone.values())
    listed = rows.filter(somewhere).orderBy(*PLACE).limit(most)
    names = F.array_compact(F.array(*(F.when(rule, F.lit(name)) for name, rule in gone.items())))
    missing = [
        Missing(r.stream, r.shard, r.sequence_number, r.message_id, tuple(r.names))
        for r in listed.withColumn("names", names).collect()
    ]
    rows.unpersist()
    return Reconciliation(
        count.dispatched,
        count.audited,
        count.in_tables,
        count.received if count.asked else None,
        {name: count[f"gone {name}"] for name in gone},
        {name: count[f"strange {name}"] for name in strange},
        tuple(missing),
    )
