"""Stage: which tables a row goes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def routed(marked: DataFrame, queues: Sequence[str]) -> DataFrame:
    """``marked`` with ``table``: the table that a row goes to.

    What lies on the error and invalid ``queues`` was set aside by a receiver and is ``queued``; a code
    makes a row a reject; a part of a sequence waits for the others.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    tables = (
        F.when(F.col("duplicate"), "duplicates")
        .when(F.col("stream").isin(*queues), "queued")
        .when(F.col("code").isNotNull(), "rejects")
        .when(F.col("total") > 1, "parts")
        .otherwise("messages")
    )
    return marked.withColumn("table", tables)
