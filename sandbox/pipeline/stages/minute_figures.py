"""Pipeline stage: sums by minute, stream and the fields to sum by; those of several batches can be added."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sandbox.pipeline.reports.database import connect
from sandbox.pipeline.storage.schema import LATENCY_BOUNDS
from schemas.bound import CONTRACT
from schemas.contract import Contract

if TYPE_CHECKING:
    import pyarrow as pa

_BUCKETS = (
    f"latency <= {LATENCY_BOUNDS[0]}",
    *(f"latency > {low} AND latency <= {high}" for low, high in pairwise(LATENCY_BOUNDS)),
    f"latency > {LATENCY_BOUNDS[-1]}",
)
_SUMS = f"""
    SELECT date_trunc('minute', arrived) AS minute, stream, {{summed}} "table" AS outcome, code,
           count(*) AS messages, sum(size)::BIGINT AS bytes,
           count(latency) AS latency_count, sum(latency)::BIGINT AS latency_sum, max(latency) AS latency_max,
           quantile_disc(latency, 0.5) AS latency_p50, quantile_disc(latency, 0.95) AS latency_p95,
           quantile_disc(latency, 0.99) AS latency_p99,
           [{", ".join(f"count(*) FILTER ({bucket})" for bucket in _BUCKETS)}] AS latency_histogram
    FROM (
        SELECT *, epoch_ms(arrived) - epoch_ms(published) AS passed,
               CASE WHEN passed IS NOT NULL THEN greatest(passed, 0) END AS latency
        FROM routed
    )
    GROUP BY ALL
"""  # noqa: S608 -- made of numbers of ours


def count_figures(routed: pa.Table, contract: Contract = CONTRACT) -> pa.Table:
    """Aggregate the routed rows of a batch to rows of ``figures``; ``outcome`` is the table of a row.

    Latency is the time from published to arrived in milliseconds; it is 0 if the sender's clock is ahead.
    """
    summed = "".join(f'"{field.column}", ' for field in contract.fields if field.summed)
    with connect() as database:
        database.register("routed", routed)
        return database.sql(_SUMS.format(summed=summed)).to_arrow_table()
