"""An AWS Lambda function that loads a Kinesis stream into a bucket.

The sandbox calls it in its own process, or with ``lambda_loaders`` deploys this file to its own Lambda.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from rdss_sandbox.files.record_lines import RecordAddress, place_in_key, write_line
from rdss_sandbox.text.timestamps import timestamp

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

OBJECT_NAME: Final = re.compile(r"date=[0-9-]{10}/(?P<shard>[^/]+)/[0-9]+-(?P<last>[0-9]+)\.ndjson")
"""The name of an object that is written without a prefix."""
BUCKET: Final = "LOADER_BUCKET"
PREFIX: Final = "LOADER_PREFIX"
SOURCES: Final = "LOADER_SOURCES"
_CONTENT_TYPE: Final = "application/x-ndjson"


class Loader:
    """Writes each batch as one object for each shard and day.

    An object's name is ``<prefix>date=2026-11-21/shardId-000000000000/<first>-<last>.ndjson``,
    by sequence numbers, so that a repeated batch overwrites itself. With ``sources`` each line names the
    record that it is a copy of. Raises what boto3 raises; Lambda then delivers the whole batch again.
    """

    def __init__(
        self, bucket: str, s3: Callable[[], S3Client], *, prefix: str = "", sources: bool = False
    ) -> None:
        self._bucket = bucket
        self._s3 = s3
        self._prefix = prefix
        self._sources = sources

    def __call__(self, event: dict[str, Any]) -> dict[str, Any]:
        """Handle an event of a Lambda function's Kinesis event source.

        Records[]: ``eventID`` is ``shardId:sequenceNumber``, ``eventSourceARN`` the stream's,
        ``kinesis.data`` base64, ``kinesis.approximateArrivalTimestamp`` seconds since the epoch.
        """
        for (stream, shard, day), records in groupby(event["Records"], key=_destination):
            group = list(records)
            first, last = (record["kinesis"]["sequenceNumber"] for record in (group[0], group[-1]))
            self._s3().put_object(
                Bucket=self._bucket,
                Key=f"{self._prefix}date={day}/{shard}/{first}-{last}.ndjson",
                Body=b"".join(self._render_line(stream, shard, record["kinesis"]) for record in group),
                ContentType=_CONTENT_TYPE,
            )
        return {"batchItemFailures": []}

    def _render_line(self, stream: str, shard: str, record: dict[str, Any]) -> bytes:
        place = RecordAddress(stream, shard, record["sequenceNumber"])
        key = record["partitionKey"]
        source = place_in_key(key) if self._sources else None
        data = b64decode(record["data"])
        return write_line(place, key, record["approximateArrivalTimestamp"], data, source)


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """The entry point on Lambda. LOADER_BUCKET, LOADER_PREFIX and LOADER_SOURCES (yes) are its settings."""
    return deployed_loader()(event)


@cache
def deployed_loader() -> Loader:
    """The loader of this process's environment."""
    environment = os.environ
    return Loader(
        environment[BUCKET],
        connect_s3(environment),
        prefix=environment.get(PREFIX, ""),
        sources=environment.get(SOURCES) == "yes",
    )


def connect_s3(environment: Mapping[str, str]) -> Callable[[], S3Client]:
    """A function that returns the S3 client of this environment, and makes it at the first call."""

    @cache
    def client() -> S3Client:
        import boto3

        return boto3.client("s3", region_name=environment.get("AWS_REGION", "us-east-1"))

    return client


def _destination(record: dict[str, Any]) -> tuple[str, str, str]:
    """Stream, shard and day (UTC) of a record."""
    stream = record["eventSourceARN"].rpartition("/")[2]
    shard = record["eventID"].partition(":")[0]
    return stream, shard, timestamp(record["kinesis"]["approximateArrivalTimestamp"])[:10]
