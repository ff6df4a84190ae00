"""``sandbox pipeline``: streams and buckets to tables with Spark, and what can be asked of them."""

from __future__ import annotations

import click


@click.group("pipeline")
def pipeline() -> None:
    """Turn streams and buckets into tables with Spark."""
