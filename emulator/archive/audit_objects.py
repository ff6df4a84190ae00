"""Reads the objects of the audit bucket as a stream, so that they can be indexed: a folder is a shard.

The loader names the objects ``date=2026-11-21/shardId-000000000000/<first>-<last>.ndjson``, by sequence
numbers. Other objects in the bucket are not part of the audit log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from emulator.streams.merged_reading import IndexedRecord, ShardKey
from rdss_sandbox.files.record_lines import read_line

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_RANGE: Final = re.compile(r"(?P<first>\d+)-(?P<last>\d+)\.ndjson")
_DIGITS_DROPPED: Final = 4
_FOLDERS_KEPT: Final = 4


class BucketUnreadableError(Exception):
    """The bucket cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class AuditLine:
    """A line of an object: ``arrived`` in seconds since the epoch, ``stream`` and ``shard_id`` its own."""

    sequence_number: str
    partition_key: str | None
    data: bytes
    arrived: float
    stream: str
    shard_id: str


class AuditObjects:
    """The entries of the audit stream ``stream`` in ``bucket``, as ``Streams``.

    A ``ShardKey`` names the stream, and the folder as its shard. Few objects are in memory at a time.
    Every method raises ``BucketUnreadableError``. A missing bucket or object counts as empty.
    """

    def __init__(self, s3: Callable[[], S3Client], bucket: str, stream: str) -> None:
        self._s3 = s3
        self._bucket = bucket
        self._stream = stream
        self._reached: dict[ShardKey, tuple[str, str]] = {}

    def shards(self) -> Iterator[ShardKey]:
        for day in self._list_folders("date="):
            for folder in self._list_folders(day):
                yield ShardKey(self._stream, folder.rstrip("/"), "")

    def read(self, shard: ShardKey, after: str | None, limit: int) -> list[IndexedRecord]:  # noqa: ARG002 -- an object comes whole
        """The entries after a sequence number in the next object that has any."""
        number, begin = self._reached.get(shard, (None, ""))
        for key, _, last in self._list_objects(f"{shard.shard}/", begin if number == after else ""):
            if after is not None and last <= int(after):
                continue
            found = [
                each
                for each in self._read_entries(key)
                if not after or int(each.sequence_number) > int(after)
            ]
            if found:
                self._reached[shard] = (found[-1].sequence_number, key)
                return [*found]
        return []

    def at(self, shard: ShardKey, sequence_number: str) -> bytes | None:
        """The data of one entry, or None when its object is gone."""
        return next(self.at_each([(shard, sequence_number)]))

    def at_each(self, places: Iterable[tuple[ShardKey, str]]) -> Iterator[bytes | None]:
        """Yield the data of each entry, or None when its object is gone.

        The last object of a folder is kept in memory for the entries that follow, of four folders at most.
        """
        kept: dict[ShardKey, dict[str, bytes]] = {}
        for shard, number in places:
            entries = kept.pop(shard, {})
            if number not in entries:
                entries = self._read_object_of(shard, number)
            kept[shard] = entries
            if len(kept) > _FOLDERS_KEPT:
                del kept[next(iter(kept))]
            yield entries.get(number)

    def _read_object_of(self, shard: ShardKey, sequence_number: str) -> dict[str, bytes]:
        """The entries of the object that has this one, by their sequence numbers, or none of them."""
        number = int(sequence_number)
        # The entry's object has a slightly lower first number, so names with a long common prefix come first.
        for length in range(len(sequence_number), -1, -_DIGITS_DROPPED):
            for key, first, last in self._list_objects(f"{shard.shard}/{sequence_number[:length]}", ""):
                if first <= number <= last:
                    entries = {each.sequence_number: each.data for each in self._read_entries(key)}
                    if sequence_number in entries:
                        return entries
        return {}

    def _list_folders(self, prefix: str) -> list[str]:
        pages = self._list_pages(Prefix=prefix, Delimiter="/")
        return [found["Prefix"] for page in pages for found in page.get("CommonPrefixes", ())]

    def _list_objects(self, prefix: str, after: str) -> Iterator[tuple[str, int, int]]:
        """Key, first and last sequence number of the objects under ``prefix`` after the key ``after``."""
        for page in self._list_pages(Prefix=prefix, StartAfter=after):
            for found in page.get("Contents", ()):
                key = found["Key"]
                if named := _RANGE.fullmatch(key.rpartition("/")[2]):
                    yield key, int(named["first"]), int(named["last"])

    def _list_pages(self, **asked: Any) -> Iterator[Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield from self._s3().get_paginator("list_objects_v2").paginate(Bucket=self._bucket, **asked)
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchBucket":
                raise BucketUnreadableError(f"{self._bucket}: {error}") from error
        except BotoCoreError as error:
            raise BucketUnreadableError(f"{self._bucket}: {error}") from error

    def _read_entries(self, key: str) -> Iterator[AuditLine]:
        for text in self._read_object(key).splitlines():
            try:
                line = read_line(text)
                arrived = datetime.fromisoformat(line.arrived).timestamp()
            except (msgspec.DecodeError, ValueError, RecursionError):
                continue
            yield AuditLine(
                line.sequence_number, line.partition_key, line.data, arrived, line.stream, line.shard_id
            )

    def _read_object(self, key: str) -> bytes:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return self._s3().get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] == "NoSuchKey":
                return b""
            raise BucketUnreadableError(f"{self._bucket}/{key}: {error}") from error
        except BotoCoreError as error:
            raise BucketUnreadableError(f"{self._bucket}/{key}: {error}") from error
