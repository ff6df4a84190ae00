"""The objects of the audit bucket, to be indexed as streams are: each folder is read as if it were a shard.

The loader names them ``date=2026-11-21/shardId-000000000000/<first>-<last>.ndjson`` by sequence numbers; what
else lies in the bucket is no part of the audit log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from emulator.streams.merged_reading import Record, ShardKey
from rdss_sandbox.record_lines import read_line

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_RANGE: Final = re.compile(r"(?P<first>\d+)-(?P<last>\d+)\.ndjson")
_DIGITS_DROPPED: Final = 4


class BucketUnreadableError(Exception):
    """S3 does not give what is in the bucket: says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of an object; ``arrived`` in seconds since the epoch."""

    sequence_number: str
    partition_key: str | None
    data: bytes
    arrived: float


class AuditObjects:
    """What is in ``bucket`` of the audit stream ``stream``.

    A ``ShardKey`` names the stream, and as its shard the folder. One object is held in memory at a time.
    Every method raises ``BucketUnreadableError``; a bucket or an object that is gone is none.
    """

    def __init__(self, s3: Callable[[], S3Client], bucket: str, stream: str) -> None:
        self._s3 = s3
        self._bucket = bucket
        self._stream = stream
        self._reached: dict[ShardKey, tuple[str, str]] = {}

    def shards(self) -> Iterator[ShardKey]:
        for day in self._folders("date="):
            for folder in self._folders(day):
                yield ShardKey(self._stream, folder.rstrip("/"), "")

    def read(self, shard: ShardKey, after: str | None, limit: int) -> list[Record]:  # noqa: ARG002 -- an object comes whole
        """The entries of the next object that has any after a sequence number."""
        number, begin = self._reached.get(shard, (None, ""))
        for key, _, last in self._objects(f"{shard.shard}/", begin if number == after else ""):
            if after is not None and last <= int(after):
                continue
            found = [
                each for each in self._entries(key) if not after or int(each.sequence_number) > int(after)
            ]
            if found:
                self._reached[shard] = (found[-1].sequence_number, key)
                return [*found]
        return []

    def at(self, shard: ShardKey, sequence_number: str) -> bytes | None:
        """The data of one entry, or None when its object is gone."""
        wanted = int(sequence_number)
        # The object that has it begins with one of the nearest numbers before: look there first.
        for length in range(len(sequence_number), -1, -_DIGITS_DROPPED):
            for key, first, last in self._objects(f"{shard.shard}/{sequence_number[:length]}", ""):
                if first <= wanted <= last:
                    for entry in self._entries(key):
                        if entry.sequence_number == sequence_number:
                            return entry.data
        return None

    def _folders(self, prefix: str) -> list[str]:
        pages = self._pages(Prefix=prefix, Delimiter="/")
        return [found["Prefix"] for page in pages for found in page.get("CommonPrefixes", ())]

    def _objects(self, prefix: str, after: str) -> Iterator[tuple[str, int, int]]:
        """Key, first and last sequence number of the objects under ``prefix`` behind the key ``after``."""
        for page in self._pages(Prefix=prefix, StartAfter=after):
            for found in page.get("Contents", ()):
                key = found["Key"]
                if named := _RANGE.fullmatch(key.rpartition("/")[2]):
                    yield key, int(named["first"]), int(named["last"])

    def _pages(self, **asked: Any) -> Iterator[Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield from self._s3().get_paginator("list_objects_v2").paginate(Bucket=self._bucket, **asked)
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchBucket":
                raise BucketUnreadableError(f"{self._bucket}: {error}") from error
        except BotoCoreError as error:
            raise BucketUnreadableError(f"{self._bucket}: {error}") from error

    def _entries(self, key: str) -> Iterator[Entry]:
        for text in self._content(key).splitlines():
            try:
                line = read_line(text)
                arrived = datetime.fromisoformat(line.arrived).timestamp()
            except (msgspec.DecodeError, ValueError):
                continue
            yield Entry(line.sequence_number, line.partition_key, line.data, arrived)

    def _content(self, key: str) -> bytes:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return self._s3().get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] == "NoSuchKey":
                return b""
            raise BucketUnreadableError(f"{self._bucket}/{key}: {error}") from error
        except BotoCoreError as error:
            raise BucketUnreadableError(f"{self._bucket}/{key}: {error}") from error
