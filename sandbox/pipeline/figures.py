"""Stage: what happened a minute, a stream and a tenant, as sums that add up from batch to batch."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

KEY = ["minute", "stream", "tenant", "outcome", "code"]
OUTCOMES = ("messages", "parts", "duplicates", "rejects", "queued")


def counted(rows: Mapping[str, DataFrame]) -> DataFrame:
    """Rows of ``figures`` from the new rows of the tables in ``OUTCOMES``.

    Latency is published to arrived, in milliseconds, 0 where the sender's clock is ahead; a KLL sketch keeps
    its distribution within about 1 % of rank.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - heavy

    slim = [
        table.select(
            F.date_trunc("minute", "arrived").alias("minute"), "stream", "tenant",
            F.lit(outcome).alias("outcome"),
            F.col("code") if "code" in table.columns else F.lit(None).cast("string").alias("code"), "size",
            F.greatest(F.unix_millis("arrived") - F.unix_millis("published"), F.lit(0)).alias("latency"),
        )
        for outcome, table in rows.items()
    ]  # fmt: skip
    return (
        reduce(lambda left, right: left.unionByName(right), slim)
        .groupBy(*KEY)
        .agg(
            F.count("*").alias("messages"),
            F.sum("size").alias("bytes"),
            F.max("latency").alias("latency_ms_max"),
            F.sum("latency").alias("latency_ms_sum"),
            F.kll_sketch_agg_bigint("latency").alias("latency"),
        )
    )


def added(before: DataFrame, new: DataFrame) -> DataFrame:
    """Two sets of figures as one."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - heavy

    return (
        before.unionByName(new)
        .groupBy(*KEY)
        .agg(
            F.sum("messages").alias("messages"),
            F.sum("bytes").alias("bytes"),
            F.max("latency_ms_max").alias("latency_ms_max"),
            F.sum("latency_ms_sum").alias("latency_ms_sum"),
            F.kll_merge_agg_bigint("latency").alias("latency"),
        )
    )


def quantile(sketch: str, rank: float) -> Column:
    """The latency in milliseconds below which a share ``rank`` (0 to 1) of a sketch's messages lies."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - heavy

    known = F.kll_sketch_get_n_bigint(sketch) > 0
    return F.when(known, F.kll_sketch_get_quantile_bigint(sketch, F.lit(rank)))
