"""Stage: records judged, and each stored whole in ``arrivals``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sandbox.pipeline.deduplication import hash_identities
from sandbox.pipeline.files import Attempt, Batches, Writers, by_day, partition
from sandbox.pipeline.tables import File

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import DataFrame

KEPT = (
    "part INT, day INT, row INT, key BIGINT, stream STRING, shard STRING, sequence_number STRING, "
    "arrived TIMESTAMP, identity STRING, code STRING, total INT, tenant BIGINT, published TIMESTAMP, size INT"
)
"""What goes on of a row that is kept in ``arrivals``: where it is kept, the hash of its identity, and what
decides on it."""
_GROUP = ["stream", "shard", "part", "day"]


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
    last: datetime | None
    even: datetime | None
    """How far every shard of the batch has come: what sequences are late by."""
    files: tuple[File, ...]


def store(incoming: Incoming, judge: Callable[[Batches], Batches], attempt: Attempt) -> Stored:
    """Judge the records and store each whole."""
    import pyarrow.compute as pc

    opened, kept = incoming.opened, _build_keeper(attempt)
    # All in one worker: between two, Spark would carry every message through the JVM.
    rows = incoming.rows.mapInArrow(lambda batches: kept(judge(opened(batches))), KEPT).persist()
    # A few dozen bytes a record come to the driver, which a batch has as many of as its source lets in.
    told = rows.select("key", *_GROUP, "arrived").toArrow()
    spans = [("arrived", "count", pc.CountOptions(mode="all")), ("arrived", "min"), ("arrived", "max")]
    found = told.group_by(_GROUP).aggregate(spans).to_pylist()
    counts: dict[str, int] = {}
    lasts: dict[tuple[str, str], datetime] = {}
    for r in found:
        path = attempt.path("arrivals", r["day"], r["part"])
        counts[path] = counts.get(path, 0) + r["arrived_count"]
        if r["arrived_max"] is not None:
            shard = r["stream"], r["shard"]
            lasts[shard] = max(r["arrived_max"], lasts.get(shard, r["arrived_max"]))
    return Stored(
        rows,
        told["key"].to_numpy(),
        min((r["arrived_min"] for r in found if r["arrived_min"] is not None), default=None),
        max(lasts.values(), default=None),
        min(lasts.values(), default=None),
        tuple(File("arrivals", path, rows, attempt.place.size(path)) for path, rows in counts.items()),
    )


def _build_keeper(attempt: Attempt) -> Callable[[Batches], Batches]:
    """For mapInArrow: write judged rows to ``arrivals``, pass on ``KEPT`` of each.

    The bytes of a message are thus handled once; everything behind works on a few dozen bytes a message.
    """

    def kept(batches: Batches) -> Batches:
        writers = Writers(attempt, partition())
        for batch in batches:
            for day, rows in by_day(batch):
                yield _describe_kept(rows, writers.part, day, writers.add("arrivals", day, rows))
        writers.close()

    return kept


def _describe_kept(rows: pa.RecordBatch, part: int, day: int | None, before: int) -> pa.RecordBatch:
    import numpy as np
    import pyarrow as pa

    count = rows.num_rows
    made = {
        "part": pa.array(np.full(count, part, np.int32)),
        "day": pa.array(np.full(count, day or 0, np.int32)),
        "row": pa.array(np.arange(before, before + count, dtype=np.int32)),
        "key": pa.array(hash_identities(rows.column("stream"), rows.column("identity"))),
    }
    names = [column.split()[0] for column in KEPT.split(", ")]
    return pa.RecordBatch.from_arrays([made[n] if n in made else rows.column(n) for n in names], names=names)
