"""Pipeline stage: turn lines of the audit log back into the records that were dispatched."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from rdss_sandbox.files.record_lines import read_line
from sandbox.pipeline.stages.parsing import RECORDS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def read_audit_log(lines: DataFrame) -> DataFrame:
    """Convert rows of the ``bucket`` source to ``RECORDS`` where each was dispatched.

    The partition key is null, since the audit log does not have it. A line that is not valid becomes a record
    with its place in the bucket; a later stage rejects it with its bytes.
    """
    return lines.mapInArrow(read_audit_batches, RECORDS)


def read_audit_line(line: bytes, bucket: str, key: str, number: int) -> dict[str, Any]:
    """Convert one line of the audit log to a row of ``RECORDS``."""
    try:
        line_read = read_line(line)
        arrived = datetime.fromisoformat(line_read.arrived)
    except (msgspec.MsgspecError, ValueError):
        return {"data": line, "streamName": bucket, "shardId": key, "sequenceNumber": str(number)}
    place = line_read.source
    return {
        "data": line_read.data,
        "streamName": place.stream if place else line_read.stream,
        "shardId": place.shard_id if place else line_read.shard_id,
        "sequenceNumber": place.sequence_number if place else line_read.sequence_number,
        "approximateArrivalTimestamp": arrived,
    }


def read_audit_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Convert one partition as ``read_audit_log`` does, for use before another step in the same worker."""
    import pyarrow as pa

    kinds = {"BINARY": pa.binary(), "STRING": pa.string(), "TIMESTAMP": pa.timestamp("us", "UTC")}
    schema = pa.schema([(name, kinds[kind]) for name, kind in (c.split() for c in RECORDS.split(", "))])
    names = ("data", "bucket", "key", "line")
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in names)
        yield pa.RecordBatch.from_pylist(
            [read_audit_line(*row) for row in zip(*columns, strict=True)], schema=schema
        )
