"""An AWS Lambda function that loads a Kinesis stream into a bucket; here our own event source calls it."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rdss_sandbox.files.record_lines import RecordAddress, place_in_key, write_line
from rdss_sandbox.text.timestamps import timestamp

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Handler: TypeAlias = Callable[[dict[str, Any], object], dict[str, Any]]
OBJECT_NAME: Final = re.compile(r"date=[0-9-]{10}/(?P<shard>[^/]+)/[0-9]+-(?P<last>[0-9]+)\.ndjson")
"""The name of an object that is written without a prefix."""
_CONTENT_TYPE: Final = "application/x-ndjson"


class Loader:
    """Writes each batch as one object for each shard and day.

    An object's name is ``<prefix>date=2026-11-21/shardId-000000000000/<first>-<last>.ndjson``,
    by sequence numbers, so that a repeated batch overwrites itself. ``buckets`` maps streams
    to buckets. With ``sources`` each line names the record that it is a copy of. Raises what
    boto3 raises; Lambda then delivers the whole batch again.
    """

    def __init__(
        self,
        buckets: Mapping[str, str],
        s3: Callable[[], S3Client],
        *,
        prefix: str = "",
        sources: bool = False,
    ) -> None:
        self.objects = 0
        self.records = 0
        self._buckets = buckets
        self._s3 = s3
        self._prefix = prefix
        self._sources = sources

    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Handle an event of a Lambda function's Kinesis event source.

        Records[]: ``eventID`` is ``shardId:sequenceNumber``, ``eventSourceARN`` the stream's,
        ``kinesis.data`` base64, ``kinesis.approximateArrivalTimestamp`` seconds since the epoch.
        """
        for (stream, shard, day), records in groupby(event["Records"], key=_destination):
            group = list(records)
            first, last = (record["kinesis"]["sequenceNumber"] for record in (group[0], group[-1]))
            self._s3().put_object(
                Bucket=self._buckets[stream],
                Key=f"{self._prefix}date={day}/{shard}/{first}-{last}.ndjson",
                Body=b"".join(self._render_line(stream, shard, record["kinesis"]) for record in group),
                ContentType=_CONTENT_TYPE,
            )
            self.objects += 1
            self.records += len(group)
        return {"batchItemFailures": []}

    def _render_line(self, stream: str, shard: str, record: dict[str, Any]) -> bytes:
        place = RecordAddress(stream, shard, record["sequenceNumber"])
        key = record["partitionKey"]
        source = place_in_key(key) if self._sources else None
        data = b64decode(record["data"])
        return write_line(place, key, record["approximateArrivalTimestamp"], data, source)


def _destination(record: dict[str, Any]) -> tuple[str, str, str]:
    """Stream, shard and day (UTC) of a record."""
    stream = record["eventSourceARN"].rpartition("/")[2]
    shard = record["eventID"].partition(":")[0]
    return stream, shard, timestamp(record["kinesis"]["approximateArrivalTimestamp"])[:10]


def s3_connector(environment: Mapping[str, str]) -> Callable[[], S3Client]:
    """A function that returns the S3 client of this environment, and makes it at the first call."""
    made: list[S3Client] = []

    def client() -> S3Client:
        if not made:
            import boto3

            made.append(boto3.client("s3", region_name=environment.get("AWS_REGION", "us-east-1")))
        return made[0]

    return client
