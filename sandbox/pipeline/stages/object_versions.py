"""The object of a message, and which version of its work it is, by the rule of ``schemas.rdss.versions``.

All objects of one work must come to one worker. The driver finds the connected objects from hashes of their
objectUUIDs, with 16 bytes for each reference. Objects with the same hash share a worker and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sandbox.pipeline.storage.schema import arrow_schema
from schemas.rdss.versions import Knowledge, compute_version_states, named_versions

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

_PLACED = "object_uuid STRING, first_version STRING, version BIGINT, replaced_by STRING, deleted BOOLEAN"


class _Body(msgspec.Struct):
    uuid: str | None = msgspec.field(default=None, name="objectUUID")
    title: str | None = msgspec.field(default=None, name="objectTitle")
    resource_type: str | None = msgspec.field(default=None, name="objectResourceType")
    related: Any = msgspec.field(default=None, name="objectRelatedIdentifier")


class _ObjectMessage(msgspec.Struct):
    body: _Body = msgspec.field(name="messageBody")


_bodies = msgspec.json.Decoder(_ObjectMessage)


class MessageObject(msgspec.Struct, frozen=True):
    """The object of a message; ``replaces`` is the first of its ``previous`` versions."""

    object_uuid: str | None = None
    resource_type: str | None = None
    title: str | None = None
    replaces: str | None = None
    previous: tuple[str, ...] | None = None
    following: tuple[str, ...] | None = None


NOTHING: Final = MessageObject()


def read_subject(raw: bytes) -> MessageObject:
    """Read the object of a message; all fields are None if the body has another form."""
    try:
        body = _bodies.decode(raw).body
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return NOTHING
    if body.related is None:
        return MessageObject(body.uuid, body.resource_type, body.title)
    previous, following = named_versions({"objectRelatedIdentifier": body.related})
    replaces = previous[0] if previous else None
    return MessageObject(
        body.uuid, body.resource_type, body.title, replaces, previous or None, following or None
    )


def place_versions(state: DataFrame) -> DataFrame:
    """Add to ``state`` the place of each object in the chains of isNewVersionOf and isPreviousVersionOf.

    The columns are ``first_version``, ``version`` from 1, ``replaced_by`` (null for the current version of a
    work) and ``deleted``, which covers the whole work. An object without references is its own first version.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    near = F.explode(F.concat(*(F.coalesce(name, F.array()) for name in ("previous", "following"))))
    named = state.select(F.xxhash64("object_uuid").alias("one"), near.alias("uuid"))
    pairs = named.select("one", F.xxhash64("uuid").alias("other")).toArrow()
    alone = state.withColumn("first_version", F.col("object_uuid")).withColumn(
        "version", F.lit(1).cast("long")
    )
    alone = alone.withColumn("replaced_by", F.lit(None).cast("string"))
    if not pairs.num_rows:
        return alone
    works = F.broadcast(state.sparkSession.createDataFrame(find_components(pairs)))
    knowledge = (
        state.withColumn("node", F.xxhash64("object_uuid"))
        .join(works, "node")
        .select("work", "object_uuid", *_moments(), "previous", "following")
        .repartition("work")
    )
    found = knowledge.mapInArrow(_places, _PLACED)
    own = [column for column in alone.columns if column not in found.columns]
    both = alone.alias("a").join(found.alias("f"), "object_uuid", "left")
    answers = [
        F.coalesce(f"f.{column}", f"a.{column}").alias(column)
        for column in found.columns
        if column != "object_uuid"
    ]
    return both.select("object_uuid", *(f"a.{column}" for column in own), *answers)


def _moments() -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    return [F.col(name).cast("double").alias(name) for name in ("updated", "deleted_at")]


def find_components(pairs: pa.Table) -> pa.Table:
    """Find connected components: ``node``, and ``work``, a number that all connected nodes share."""
    import numpy as np
    import pyarrow as pa

    ends = [pairs["one"].to_numpy(), pairs["other"].to_numpy()]
    nodes, at = np.unique(np.concatenate(ends), return_inverse=True)
    one, other = at[: pairs.num_rows], at[pairs.num_rows :]
    labels: np.ndarray[Any, Any] = np.arange(len(nodes))
    while True:
        lower = np.minimum(labels[one], labels[other])
        # Each label takes the lowest label of its neighbours; all nodes with the old label follow.
        for end in (one, other):
            np.minimum.at(labels, labels[end], lower)
        while not np.array_equal(labels, further := labels[labels]):
            labels = further
        if np.array_equal(labels[one], labels[other]):
            return pa.table({"node": nodes, "work": labels})


def _places(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    rows = [row for batch in batches for row in batch.to_pylist()]
    found = compute_version_states(
        Knowledge(
            row["object_uuid"],
            row["updated"],
            row["deleted_at"],
            row["previous"] or (),
            row["following"] or (),
        )
        for row in rows
    )
    if found:
        columns = [
            {
                "object_uuid": place.uuid,
                "first_version": place.first,
                "version": place.number,
                "replaced_by": place.replaced_by,
                "deleted": place.deleted,
            }
            for place in found.values()
        ]
        yield pa.RecordBatch.from_pylist(columns, schema=arrow_schema(_PLACED))
