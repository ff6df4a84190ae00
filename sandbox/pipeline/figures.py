"""Pipeline stage: sums by minute, stream and tenant; the sums of several batches can be added."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OUTCOMES = ("messages", "parts", "duplicates", "rejects", "queued")


def count_figures(rows: DataFrame) -> DataFrame:
    """Aggregate the routed rows of a batch to rows of ``figures``; ``outcome`` is the table of a row.

    Latency is the time from published to arrived in milliseconds; it is 0 if the sender's clock is ahead. A
    KLL sketch keeps its distribution with a rank error of about 1 %.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    passed = F.unix_millis("arrived") - F.unix_millis("published")
    latency = F.when(passed.isNotNull(), F.greatest(passed, F.lit(0)))
    return (
        rows.select("*", latency.alias("latency"))
        .groupBy(
            F.date_trunc("minute", "arrived").alias("minute"),
            "stream",
            "tenant",
            F.col("table").alias("outcome"),
            "code",
        )
        .agg(
            F.count("*").alias("messages"),
            F.sum("size").alias("bytes"),
            F.max("latency").alias("latency_ms_max"),
            F.sum("latency").alias("latency_ms_sum"),
            F.kll_sketch_agg_bigint("latency").alias("latency"),
        )
    )


def quantile(sketch: str, rank: float) -> Column:
    """The latency in milliseconds at ``rank`` (0 to 1) of a sketch; null for an empty sketch."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    known = F.kll_sketch_get_n_bigint(sketch) > 0
    return F.when(known, F.kll_sketch_get_quantile_bigint(sketch, F.lit(rank)))
