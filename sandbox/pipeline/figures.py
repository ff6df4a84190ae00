"""Stage: what happened a minute, a stream and a tenant, as sums that add up from batch to batch."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

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


def summed(figures: DataFrame, *by: str) -> DataFrame:
    """Figures by some of their keys, with ``p50``, ``p95`` and ``most`` of the latency in milliseconds."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - heavy

    sketch = F.kll_merge_agg_bigint("latency")
    return (
        figures.groupBy(*by)
        .agg(
            F.sum("messages").alias("messages"),
            F.sum("bytes").alias("bytes"),
            F.max("latency_ms_max").alias("most"),
            sketch.alias("sketch"),
        )
        .withColumn("p50", F.kll_sketch_get_quantile_bigint("sketch", F.lit(0.5)))
        .withColumn("p95", F.kll_sketch_get_quantile_bigint("sketch", F.lit(0.95)))
        .drop("sketch")
        .orderBy(*by)
    )
