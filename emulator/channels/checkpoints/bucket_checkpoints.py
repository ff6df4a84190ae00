"""Checkpoints recovered from the names of the objects in a bucket."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from emulator.channels.channel import ChannelUnavailableError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_NO_ANSWER: Final = {"NoSuchBucket", "AccessDenied", "403", "404"}


class BucketCheckpoints:
    """Checkpoints of the one stream that is loaded into ``bucket``, from the names of its objects.

    Without them a restart would split batches differently, and the same records would be in two objects.
    ``object_name`` matches the names, with the groups ``shard`` and ``last``. ``first_number`` returns the
    first sequence number of a shard, so that objects of an earlier stream with the same name do not count.
    ``get`` raises ``ChannelUnavailableError`` while the bucket cannot be read.
    """

    def __init__(
        self, s3: S3Client, bucket: str, object_name: re.Pattern[str], first_number: Callable[[str], int]
    ) -> None:
        self._s3 = s3
        self._bucket = bucket
        self._object_name = object_name
        self._first_number = first_number
        self._last: dict[str, int] | None = None
        self._lock = threading.Lock()

    def get(self, shard: str) -> str | None:
        with self._lock:
            if self._last is None:
                self._last = self._read_object_names()
            last = self._last.get(shard, -1)
        return str(last) if last >= self._first_number(shard) else None

    def put(self, shard: str, sequence_number: str) -> None:
        """Do nothing: the object in the bucket is the checkpoint."""

    def _read_object_names(self) -> dict[str, int]:
        from botocore.exceptions import BotoCoreError, ClientError

        found: dict[str, int] = {}
        try:
            for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket):
                for each in page.get("Contents", ()):
                    if loaded := self._object_name.fullmatch(each["Key"]):
                        shard, last = loaded["shard"], int(loaded["last"])
                        found[shard] = max(found.get(shard, -1), last)
        except ClientError as error:
            if error.response["Error"]["Code"] in _NO_ANSWER:
                return {}
            raise ChannelUnavailableError(f"{self._bucket}: {error}") from error
        except BotoCoreError as error:
            raise ChannelUnavailableError(f"{self._bucket}: {error}") from error
        return found
