"""Pipeline stage: the current state of every object, from messages in any order."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

from sandbox.pipeline.stages.object_versions import place_versions
from sandbox.pipeline.storage.schema import TABLES

CHANGE = [
    "object_uuid", "tenant", "message_type", "message_id", "published", "arrived",
    "resource_type", "title", "replaces", "previous", "following",
]  # fmt: skip
"""The columns of ``messages`` and ``sequences`` that describe a change of an object."""

_MESSAGE_TYPES = ("MetadataCreate", "MetadataUpdate", "MetadataDelete", "PreservationEvent")
_STATE = ["resource_type", "title", "message_type", "message_id", "replaces", "tenant"]


def merge_objects(previous: DataFrame, changes: DataFrame) -> DataFrame:
    """Compute the rows of ``objects`` from the previous rows and ``CHANGE`` rows in any order, also repeated.

    The change with the latest ``published`` (or else the latest arrival) wins: a late update neither undoes a
    newer one nor restores an object that was deleted later. All versions that were ever named count.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    relevant = F.col("object_uuid").isNotNull() & F.col("message_type").isin(*_MESSAGE_TYPES)
    facts = changes.filter(relevant).select("object_uuid", *_facts())
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
    known = state.join(
        _collect_versions(previous, changes.filter(relevant)), "object_uuid", "left"
    ).localCheckpoint()
    return place_versions(known).select(*TABLES["objects"].names)


def _collect_versions(*frames: DataFrame) -> DataFrame:
    """All versions that each object ever named, as ``previous`` and ``following``."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    # Older tables lack the column previous; they have only the version that is replaced.
    replaced = F.when(F.col("replaces").isNotNull(), F.array("replaces"))
    given = [
        each.select("object_uuid", F.coalesce("previous", replaced).alias("previous"), "following")
        for each in frames
    ]
    every = reduce(lambda one, other: one.unionByName(other), given)
    some = every.filter(F.col("previous").isNotNull() | F.col("following").isNotNull())

    def all_of(name: str) -> Column:
        named = F.array_sort(F.array_distinct(F.flatten(F.collect_list(name))))
        return F.when(F.size(named) > 0, named).alias(name)

    return some.groupBy("object_uuid").agg(all_of("previous"), all_of("following"))


def _facts() -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    at = F.coalesce("published", "arrived")
    writes = F.col("message_type").isin("MetadataCreate", "MetadataUpdate")
    return [
        F.when(F.col("message_type") == "MetadataCreate", at).alias("created"),
        F.when(F.col("message_type") == "PreservationEvent", at).alias("preserved"),
        F.when(F.col("message_type") == "MetadataDelete", at).alias("deleted_at"),
        F.when(writes, F.struct(at.alias("updated"), *_STATE)).alias("last"),
        F.col("tenant").alias("any_tenant"),
    ]
