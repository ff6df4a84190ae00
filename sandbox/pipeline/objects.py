"""Stage: the current state of every object, from messages in any order."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

from sandbox.pipeline.tables import COLUMNS
from sandbox.pipeline.versions import placed

CHANGE = [
    "object_uuid", "tenant", "message_type", "message_id", "published", "arrived",
    "resource_type", "title", "replaces", "previous", "following",
]  # fmt: skip
"""The columns of ``messages`` and ``sequences`` that tell what happened to an object."""

_TELLING = ("MetadataCreate", "MetadataUpdate", "MetadataDelete", "PreservationEvent")
_STATE = ["resource_type", "title", "message_type", "message_id", "replaces", "tenant"]


def current(previous: DataFrame, changes: DataFrame) -> DataFrame:
    """Rows of ``objects`` from those before and new ``CHANGE`` rows, in any order and repeated or not.

    The last word is that of the latest ``published`` (the arrival where there is none): a late update does
    not undo a newer one, nor bring back what was deleted after it. What was ever said of versions counts.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy

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
    known = state.join(_named(previous, changes.filter(telling)), "object_uuid", "left").localCheckpoint()
    return placed(known).select(*(column.split()[0] for column in COLUMNS["objects"].split(", ")))


def _named(*told: DataFrame) -> DataFrame:
    """The versions that each object ever named: ``previous`` and ``following``, where it named any."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    # Tables of before there were these columns have the one that is replaced.
    replaced = F.when(F.col("replaces").isNotNull(), F.array("replaces"))
    given = [
        each.select("object_uuid", F.coalesce("previous", replaced).alias("previous"), "following")
        for each in told
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
