"""Stage: everything dispatched against everything kept; what is missing, and where it went missing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING

import msgspec

from sandbox.pipeline.tables import Tables
from schemas.envelope import peek

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PLACE = ["stream", "shard", "sequence_number"]
PLACES = "stream STRING, shard STRING, sequence_number STRING, message_id STRING"
"""A record by where it was dispatched, and the messageId that can be read of it."""

OUTCOMES = ("messages", "parts", "duplicates", "rejects", "queued")


class Missing(msgspec.Struct, frozen=True):
    """A record that is not everywhere; ``missing_from`` is ``audit log``, ``tables`` or ``receiver``."""

    stream: str
    shard: str
    sequence_number: str
    message_id: str | None
    missing_from: tuple[str, ...]

    @property
    def place(self) -> str:
        """Where it was dispatched, in one word."""
        return f"{self.stream}/{self.shard}/{self.sequence_number}"


class Reconciliation(msgspec.Struct, frozen=True):
    """How many records were dispatched and are where.

    ``received`` counts messages and is None when not asked.

    ``missing`` are the first of those that are not everywhere, ``strangers`` how many rows of the tables
    and of the audit log no stream knows.
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
        """Whether everything is everywhere, and nothing else is."""
        return not any(self.missing_from.values()) and not any(self.strangers.values())

    def lines(self) -> list[tuple[str, int]]:
        """What a person reads, line by line."""
        asked = [] if self.received is None else [("finished by the receiver", self.received)]
        return [
            ("dispatched", self.dispatched),
            ("in the audit log", self.audited),
            ("in the tables", self.in_tables),
            *asked,
            *((f"missing from the {name}", count) for name, count in self.missing_from.items()),
            *((f"unknown to the streams, in the {name}", count) for name, count in self.strangers.items()),
        ]


def places(records: DataFrame) -> DataFrame:
    """Records of a source to ``PLACES``."""
    return records.mapInArrow(_places, PLACES)


def _places(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        ids = [peek(data or b"").message_id for data in batch.column("data").to_pylist()]
        columns = [batch.column(name) for name in ("streamName", "shardId", "sequenceNumber")]
        yield pa.RecordBatch.from_arrays([*columns, pa.array(ids, pa.string())], names=[*PLACE, "message_id"])


def table_places(spark: SparkSession, tables: Tables) -> DataFrame:
    """Where every row of the tables came from, with ``outcome``: the table it is in."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    first, *others = (
        tables.read(spark, name).select(*PLACE, "message_id", F.lit(name).alias("outcome"))
        for name in OUTCOMES
    )
    for other in others:
        first = first.unionByName(other)
    return first


def compared(
    dispatched: DataFrame, audited: DataFrame, in_tables: DataFrame, received: DataFrame | None = None
) -> DataFrame:
    """One row a place that is known anywhere: ``dispatched``, ``audited``, ``in_tables``, ``received``.

    Ne row a place that is known anywhere, with ``dispatched``, ``audited``, ``in_tables`` and ``received``.

    ``received`` holds the ``message_id`` that a receiver has finished with; only good messages are looked for
    there, and the column is null where that does not apply.
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


def summed(rows: DataFrame, most: int = 100) -> Reconciliation:
    """``compared`` rows as one answer, with the first ``most`` that are missing somewhere."""
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
