"""Stage: what happened a minute, a stream and a tenant, as sums that add up from batch to batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OUTCOMES = ("messages", "parts", "duplicates", "rejects", "queued")


def counted(rows: DataFrame) -> DataFrame:
    """Rows of ``figures`` from routed rows of a batch; ``outcome`` is the table each went to.

    Latency is published to arrived, in milliseconds, 0 where the sender's clock is ahead; a KLL sketch keeps
    its distribution within about 1 % of rank.
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
    """The latency in milliseconds below which a share ``rank`` (0 to 1) of a sketch's messages lies."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    known = F.kll_sketch_get_n_bigint(sketch) > 0
    return F.when(known, F.kll_sketch_get_quantile_bigint(sketch, F.lit(rank)))
