"""Storage for the whole originals of rejected messages that are too large to be decorated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class OriginalNotKeptError(Exception):
    """The original could not be stored, so the message is not rejected yet and will be read again."""

    def __init__(self, address: str, why: Exception) -> None:
        super().__init__(f"the original of a rejected message could not be kept as {address}: {why}")


class Originals(Protocol):
    """Stores bytes under a bucket and key and returns their URI. Raises ``OriginalNotKeptError``."""

    def keep(self, bucket: str, key: str, data: bytes) -> str: ...


class S3Originals:
    """Stores originals in S3; storing the same bytes under the same key again is harmless."""

    def __init__(self, s3: S3Client) -> None:
        self._s3 = s3

    def keep(self, bucket: str, key: str, data: bytes) -> str:
        from botocore.exceptions import BotoCoreError, ClientError

        address = f"s3://{bucket}/{key}"
        try:
            self._s3.put_object(Bucket=bucket, Key=key, Body=data, ContentType="application/octet-stream")
        except (BotoCoreError, ClientError) as error:
            raise OriginalNotKeptError(address, error) from error
        return address


class MemoryOriginals:
    """Stores originals in a dictionary by URI, for the mock queue."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def keep(self, bucket: str, key: str, data: bytes) -> str:
        uri = f"memory://{bucket}/{key}"
        self.kept[uri] = data
        return uri
