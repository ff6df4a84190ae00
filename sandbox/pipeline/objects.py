"""Stage: the current state of every object, from messages in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

from sandbox.pipeline.tables import COLUMNS

CHANGE = [
    "object_uuid", "tenant", "message_type", "message_id", "published", "arrived",
    "resource_type", "title", "replaces",
]  # fmt: skip
"""The columns of ``messages`` and ``sequences`` that tell what happened to an object."""

_TELLING = ("MetadataCreate", "MetadataUpdate", "MetadataDelete", "PreservationEvent")
_LONGEST_CHAIN = 2**20
_STATE = ["resource_type", "title", "message_type", "message_id", "replaces", "tenant"]


def current(previous: DataFrame, changes: DataFrame) -> DataFrame:
    """Rows of ``objects`` from those before and new ``CHANGE`` rows, in any order and repeated or not.

    The last word is that of the latest ``published`` (the arrival where there is none): a late update does
    not undo a newer one, nor bring back what was deleted after it.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - heavy

    telling = F.col("object_uuid").isNotNull() & F.col("message_type").isin(*_TELLING)
    facts = changes.filter(telling).select("object_uuid", *_facts())
    before = previous.select(
        "object_uuid", "created", "preserved", "deleted_at",
        F.when(F.col("updated").isNotNull(), F.struct("updated", *_STATE)).alias("last"),
        F.col("tenant").alias("any_tenant"),
    )  # fmt: skip
    merged = (
        before.unionByName(facts)
        .groupBy("object_uuid")
        .agg(
            F.min("created").alias("created"),
            F.max("preserved").alias("preserved"),
            F.max("deleted_at").alias("deleted_at"),
            F.max("last").alias("last"),
            F.max("any_tenant").alias("any_tenant"),
        )
    )
    deleted = F.col("deleted_at").isNotNull() & (
        F.col("last").isNull() | (F.col("deleted_at") >= F.col("last.updated"))
    )
    state = merged.select(
        "object_uuid", "created", "preserved", "deleted_at", deleted.alias("deleted"), "last.updated",
        *(f"last.{name}" for name in _STATE if name != "tenant"),
        F.coalesce("last.tenant", "any_tenant").alias("tenant"),
    )  # fmt: skip
    return with_versions(state)


def _facts() -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - heavy

    at = F.coalesce("published", "arrived")
    writes = F.col("message_type").isin("MetadataCreate", "MetadataUpdate")
    return [
        F.when(F.col("message_type") == "MetadataCreate", at).alias("created"),
        F.when(F.col("message_type") == "PreservationEvent", at).alias("preserved"),
        F.when(F.col("message_type") == "MetadataDelete", at).alias("deleted_at"),
        F.when(writes, F.struct(at.alias("updated"), *_STATE)).alias("last"),
        F.col("tenant").alias("any_tenant"),
    ]


def with_versions(state: DataFrame) -> DataFrame:
    """``state`` with its place in the chain of isNewVersionOf.

    ``first_version``, ``version`` from 1, ``replaced_by``.

    Each round doubles the way looked back, so a chain of n versions takes log n rounds; a circle, which no
    honest chain has, keeps the version it reached.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - heavy

    links = state.filter(F.col("replaces").isNotNull()).select(
        F.col("object_uuid").alias("uuid"),
        F.col("replaces").alias("ancestor"),
        F.lit(1).cast("long").alias("depth"),
    )
    newest = links.groupBy("ancestor").agg(F.max("uuid").alias("replaced_by"))
    steps, resolved = 1, links.localCheckpoint()
    while steps < _LONGEST_CHAIN:
        older = resolved.select(
            F.col("uuid").alias("ancestor"), F.col("ancestor").alias("older"), F.col("depth").alias("more")
        )
        step = resolved.join(older, "ancestor", "left")
        if step.filter(F.col("older").isNotNull()).isEmpty():
            break
        resolved = step.select(
            "uuid",
            F.coalesce("older", "ancestor").alias("ancestor"),
            (F.col("depth") + F.coalesce("more", F.lit(0))).alias("depth"),
        ).localCheckpoint()
        steps *= 2
    chains = resolved.select(F.col("uuid").alias("object_uuid"), "ancestor", "depth")
    return (
        state.join(chains, "object_uuid", "left")
        .join(newest.withColumnRenamed("ancestor", "object_uuid"), "object_uuid", "left")
        .withColumn("first_version", F.coalesce("ancestor", "object_uuid"))
        .withColumn("version", F.coalesce("depth", F.lit(0)) + 1)
        .select(*(column.split()[0] for column in COLUMNS["objects"].split(", ")))
    )
