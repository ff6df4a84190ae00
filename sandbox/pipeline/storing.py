"""Stage: records judged, and each stored whole in ``arrivals``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sandbox.pipeline.deduplication import hash_identities
from sandbox.pipeline.files import Attempt, Batches, Writers, partition
from sandbox.pipeline.table_log import File

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import DataFrame

KEPT = (
    "part INT, row INT, key BIGINT, stream STRING, shard STRING, sequence_number STRING, "
    "arrived TIMESTAMP, identity STRING, code STRING, total INT, tenant BIGINT, published TIMESTAMP, size INT"
)
"""What goes on of a row that is kept in ``arrivals``: where it is kept, the hash of its identity, and what
decides on it."""
_GROUP = ["stream", "shard", "part"]


@dataclass(frozen=True)
class Incoming:
    """Rows of a source, and what makes ``RECORDS`` of them where they are worked on."""

    rows: DataFrame
    opened: Callable[[Batches], Batches]

    def of(self, rows: DataFrame) -> Incoming:
        """The same for the rows of one batch."""
        return Incoming(rows, self.opened)


@dataclass(frozen=True)
class Stored:
    """What is kept of a batch: ``KEPT`` rows, and what they hold."""

    rows: DataFrame
    keys: np.ndarray[Any, Any]
    first: datetime | None
    even: datetime | None
    """How far every shard of the batch has come: what sequences are late by."""
    files: tuple[File, ...]


def store(incoming: Incoming, judge: Callable[[Batches], Batches], attempt: Attempt) -> Stored:
    """Judge the records and store each whole."""
    opened, kept = incoming.opened, _build_keeper(attempt)
    # All in one worker: between two, Spark would carry every message through the JVM.
    rows = incoming.rows.mapInArrow(lambda batches: kept(judge(opened(batches))), KEPT).persist()
    # A few dozen bytes a record come to the driver, which a batch has as many of as its source lets in.
    told = rows.select("key", *_GROUP, "arrived").toArrow()
    found = told.group_by(_GROUP).aggregate([("arrived", "min"), ("arrived", "max")]).to_pylist()
    lasts: dict[tuple[str, str], datetime] = {}
    for r in found:
        if r["arrived_max"] is not None:
            shard = r["stream"], r["shard"]
            lasts[shard] = max(r["arrived_max"], lasts.get(shard, r["arrived_max"]))
    return Stored(
        rows,
        told["key"].to_numpy(),
        min((r["arrived_min"] for r in found if r["arrived_min"] is not None), default=None),
        min(lasts.values(), default=None),
        tuple(_list_files(told, attempt)),
    )


def _list_files(told: pa.Table, attempt: Attempt) -> Iterator[File]:
    """Yield the files of ``arrivals`` that the rows are kept in."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = told.append_column("at", told["arrived"].cast(pa.int64())).group_by("part")
    count, size, batches = pc.CountOptions(mode="all"), attempt.place.size, (attempt.batch, attempt.batch)
    for r in rows.aggregate([("at", "count", count), ("at", "min"), ("at", "max")]).to_pylist():
        path = attempt.path("arrivals", r["part"])
        yield File("arrivals", path, r["at_count"], size(path), r["at_min"], r["at_max"], batches)


def _build_keeper(attempt: Attempt) -> Callable[[Batches], Batches]:
    """For mapInArrow: write judged rows to ``arrivals``, pass on ``KEPT`` of each.

    The bytes of a message are thus handled once; everything behind works on a few dozen bytes a message.
    """

    def kept(batches: Batches) -> Batches:
        writers = Writers(attempt, partition())
        for batch in batches:
            if batch.num_rows:
                yield _describe_kept(batch, writers.part, writers.add("arrivals", batch))
        writers.close()

    return kept


def _describe_kept(rows: pa.RecordBatch, part: int, before: int) -> pa.RecordBatch:
    import numpy as np
    import pyarrow as pa

    count = rows.num_rows
    made = {
        "part": pa.array(np.full(count, part, np.int32)),
        "row": pa.array(np.arange(before, before + count, dtype=np.int32)),
        "key": pa.array(hash_identities(rows.column("stream"), rows.column("identity"))),
    }
    names = [column.split()[0] for column in KEPT.split(", ")]
    return pa.RecordBatch.from_arrays([made[n] if n in made else rows.column(n) for n in names], names=names)
