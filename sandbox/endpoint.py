"""The AWS side of a sandbox, as its own applications reach it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from emulator.channels.kinesis import connect
from sandbox.receiver.originals import connect_s3

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The URL that AWS clients ask, and the region in which the streams are."""

    url: str
    region: str

    def kinesis(self) -> KinesisClient:
        return connect(self.url, region=self.region)

    def s3(self) -> S3Client:
        return connect_s3(self.url, region=self.region)
