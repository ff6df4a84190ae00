"""How far a stream was loaded into a bucket by processes before this one: the bucket itself says it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from emulator.archive.lambda_loader import OBJECT_NAME
from emulator.channels import ChannelUnavailableError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_NO_ANSWER: Final = {"NoSuchBucket", "AccessDenied", "403", "404"}


class LoadedPositions:
    """Checkpoints of the one stream that is loaded into ``bucket``, from the names of its objects.

    Without them a batch that is cut elsewhere than before would lie there twice, under two names.
    ``began`` gives the sequence number at which a shard begins: objects of an earlier stream of the
    name are none of this one's. ``get`` raises ``ChannelUnavailableError`` while the bucket cannot be read.
    """

    def __init__(self, s3: S3Client, bucket: str, began: Callable[[str], int]) -> None:
        self._s3 = s3
        self._bucket = bucket
        self._began = began
        self._last: dict[str, int] | None = None
        self._lock = threading.Lock()

    def get(self, shard: str) -> str | None:
        with self._lock:
            if self._last is None:
                self._last = self._found()
            last = self._last.get(shard, -1)
        return str(last) if last >= self._began(shard) else None

    def put(self, shard: str, sequence_number: str) -> None:
        """Nothing: the object is there."""

    def _found(self) -> dict[str, int]:
        from botocore.exceptions import BotoCoreError, ClientError

        found: dict[str, int] = {}
        try:
            for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket):
                for each in page.get("Contents", ()):
                    if loaded := OBJECT_NAME.fullmatch(each["Key"]):
                        shard, last = loaded["shard"], int(loaded["last"])
                        found[shard] = max(found.get(shard, -1), last)
        except ClientError as error:
            if error.response["Error"]["Code"] in _NO_ANSWER:
                return {}
            raise ChannelUnavailableError(f"{self._bucket}: {error}") from error
        except BotoCoreError as error:
            raise ChannelUnavailableError(f"{self._bucket}: {error}") from error
        return found
