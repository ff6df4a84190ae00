"""Stage: records judged, and each stored whole in ``arrivals``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from sandbox.pipeline.stages.deduplication import hash_identities
from sandbox.pipeline.storage.files import BatchAttempt, Batches, Writers, partition
from sandbox.pipeline.storage.schema import arrow_schema, describe_fields, list_columns
from sandbox.pipeline.storage.table_log import File
from schemas.bound import CONTRACT
from schemas.contract import Contract

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_KEPT = (
    "part INT, row INT, key BIGINT, stream STRING, shard STRING, sequence_number STRING, "
    "arrived TIMESTAMP, identity STRING, code STRING, total INT, published TIMESTAMP, size INT"
)

_PACKED = "kept BINARY"
"""The same on its way through the JVM: an Arrow stream for each batch."""


@dataclass(frozen=True)
class Incoming:
    """Rows of a source, and what makes ``RECORDS`` of them where they are worked on."""

    rows: DataFrame
    opened: Callable[[Batches], Batches]

    def of(self, rows: DataFrame) -> Incoming:
        """The same for the rows of one batch."""
        return Incoming(rows, self.opened)


@dataclass(frozen=True)
class StoredBatch:
    """What is kept of a batch: rows of ``list_kept``, and the files of ``arrivals`` that hold them."""

    rows: pa.Table
    files: tuple[File, ...]

    @property
    def even(self) -> datetime | None:
        """How far every shard of the batch has come, which is what sequences are late by."""
        lasts = self.rows.group_by(["stream", "shard"]).aggregate([("arrived", "max")])["arrived_max"]
        return min((last for last in lasts.to_pylist() if last is not None), default=None)


def list_kept(contract: Contract) -> str:
    """What goes on of a row that is kept in ``arrivals``, as columns with Spark's type names.

    They are where it is kept, the hash of its identity, and what decides on it. What a contract does not
    declare is null.
    """
    summed = describe_fields(field for field in contract.fields if field.summed)
    return f"{_KEPT}, {list_columns(summed)}" if summed else _KEPT


def store(
    incoming: Incoming,
    judge: Callable[[Batches], Batches],
    attempt: BatchAttempt,
    contract: Contract = CONTRACT,
) -> StoredBatch:
    """Judge the records and store each whole."""
    columns = list_kept(contract)
    opened, kept = incoming.opened, _build_keeper(attempt, columns)
    # All in one worker: between two, Spark would carry every message through the JVM. A few dozen bytes a
    # record come to the driver, which a batch has as many of as its source lets in.
    packed = incoming.rows.mapInArrow(lambda batches: _pack(kept(judge(opened(batches)))), _PACKED)
    rows = _unpack(packed.toArrow(), columns)
    return StoredBatch(rows, tuple(_list_files(rows, attempt)))


def _pack(batches: Batches) -> Batches:
    """Make one value of each batch: of values, the JVM would copy each one, cell by cell."""
    import pyarrow as pa

    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        packed = pa.array([sink.getvalue().to_pybytes()], pa.binary())
        yield pa.RecordBatch.from_arrays([packed], names=[_PACKED.split(maxsplit=1)[0]])


def _unpack(packed: pa.Table, columns: str) -> pa.Table:
    import pyarrow as pa

    schema = arrow_schema(columns)
    streams = [pa.ipc.open_stream(value.as_buffer()) for value in packed.column(0)]
    return pa.concat_tables([schema.empty_table(), *(stream.read_all().cast(schema) for stream in streams)])


def _list_files(outcomes: pa.Table, attempt: BatchAttempt) -> Iterator[File]:
    """Yield the files of ``arrivals`` that the rows are kept in."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = (
        outcomes.select(["part", "arrived"])
        .append_column("at", outcomes["arrived"].cast(pa.int64()))
        .group_by("part")
    )
    size, batches = attempt.place.size, (attempt.batch, attempt.batch)
    every = pc.CountOptions(mode="all")
    counts = [("part", "count", every), ("at", "count"), ("at", "min"), ("at", "max")]
    for r in rows.aggregate(counts).to_pylist():
        path, undated = attempt.path("arrivals", r["part"]), r["part_count"] - r["at_count"]
        yield File("arrivals", path, r["part_count"], size(path), r["at_min"], r["at_max"], undated, batches)


def _build_keeper(attempt: BatchAttempt, columns: str) -> Callable[[Batches], Batches]:
    """For mapInArrow: write judged rows to ``arrivals``, pass on ``columns`` of each.

    The bytes of a message are thus handled once; everything behind works on a few dozen bytes a message.
    """

    def kept(batches: Batches) -> Batches:
        writers, schema = Writers(attempt, partition()), arrow_schema(columns)
        for batch in batches:
            if batch.num_rows:
                yield _describe_kept(batch, schema, writers.part, writers.add("arrivals", batch))
        writers.close()

    return kept


def _describe_kept(rows: pa.RecordBatch, schema: pa.Schema, part: int, before: int) -> pa.RecordBatch:
    import numpy as np
    import pyarrow as pa

    count = rows.num_rows
    made = {
        "part": pa.array(np.full(count, part, np.int32)),
        "row": pa.array(np.arange(before, before + count, dtype=np.int32)),
        "key": pa.array(hash_identities(rows.column("stream"), rows.column("identity"))),
    }
    made |= {name: rows.column(name) for name in rows.schema.names}
    kept = [made[each.name] if each.name in made else pa.nulls(count, each.type) for each in schema]
    return pa.RecordBatch.from_arrays(kept, names=schema.names)
