"""Pipeline stage: sums by minute, stream and tenant; the sums of several batches can be added."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sandbox.pipeline.schema import LATENCY_BOUNDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OUTCOMES = ("messages", "parts", "duplicates", "rejects", "queued")


def count_figures(rows: DataFrame) -> DataFrame:
    """Aggregate the routed rows of a batch to rows of ``figures``; ``outcome`` is the table of a row.

    Latency is the time from published to arrived in milliseconds; it is 0 if the sender's clock is ahead.
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
            F.count("latency").alias("latency_count"),
            F.sum("latency").alias("latency_sum"),
            F.max("latency").alias("latency_max"),
            *(
                F.percentile_approx("latency", rank / 100, 10_000).alias(f"latency_p{rank}")
                for rank in (50, 95, 99)
            ),
            F.array(*_count_buckets()).alias("latency_histogram"),
        )
    )


def _count_buckets() -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    latency, (first, *_, last) = F.col("latency"), LATENCY_BOUNDS
    between = [(latency > low) & (latency <= high) for low, high in pairwise(LATENCY_BOUNDS)]
    return [F.count_if(rule) for rule in (latency <= first, *between, latency > last)]
