"""Reconciliation of a running system: its streams, its audit bucket, its tables, a receiver's repository."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.pipeline.spark.failures import UsageError, describe_failure
from sandbox.pipeline.stages.audited import read_audit_log
from sandbox.pipeline.stages.reconciliation import (
    Reconciliation,
    compare_places,
    list_places,
    summarise,
    table_places,
)
from sandbox.pipeline.storage.table_store import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class ReconciledSystem:
    """The system to reconcile; ``repository`` is the SQLite file of a receiver."""

    endpoint_url: str | None
    region: str
    streams: tuple[str, ...]
    bucket: str
    repository: Path | None = None


def reconcile(spark: SparkSession, tables: Tables, running: ReconciledSystem) -> Reconciliation:
    """Compare the current streams and audit bucket with the tables.

    Raises UsageError when the repository is not one, PipelineFailedError when something cannot be read.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    service = {"region": running.region}
    if running.endpoint_url:
        service["endpointUrl"] = running.endpoint_url
    received = None if running.repository is None else _read_received(spark, running.repository)
    names = ",".join(running.streams)
    dispatched = spark.read.format("kinesis").options(streamName=names, **service).load()
    lines = spark.read.format("bucket").options(bucket=running.bucket, **service).load()
    logged = list_places(read_audit_log(lines)).filter(F.col("stream").isin(*running.streams))
    try:
        return summarise(
            compare_places(list_places(dispatched), logged, table_places(spark, tables), received)
        )
    except PySparkException as failed:
        raise describe_failure(failed) from failed


def _read_received(spark: SparkSession, repository: Path) -> DataFrame:
    try:
        with closing(sqlite3.connect(f"file:{repository}?mode=ro", uri=True)) as database:
            statement = "SELECT messageId FROM messages WHERE status = 'RECEIVED' AND messageId IS NOT NULL"
            rows = database.execute(statement).fetchall()
    except sqlite3.Error as wrong:
        raise UsageError(f"{repository} is not a receiver's repository: {wrong}") from None
    return spark.createDataFrame(rows, "message_id STRING")
