"""The AWS endpoint of a sandbox and clients for it, for the sandbox's own applications."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.channels.aws_session import aws_session
from emulator.channels.kinesis import connect

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient
    from mypy_boto3_s3 import S3Client


def connect_s3(
    endpoint: str | None, *, region: str = "us-east-1", token: str | None = None, trust: Path | None = None
) -> S3Client:
    """Make a client for an S3 endpoint, None for AWS's, with the environment's credentials or dummy ones."""
    from botocore.config import Config

    config = Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 3})
    return aws_session(region, token, trust).client("s3", endpoint_url=endpoint, config=config)


@dataclass(frozen=True, slots=True)
class AwsEndpoint:
    """The URL for AWS clients, the region of the streams, and the sandbox's bearer token, if it has one.

    ``trust`` is the authority of its certificate, None for what the environment trusts.
    """

    url: str
    region: str
    token: str | None = None
    trust: Path | None = None

    def kinesis(self) -> KinesisClient:
        return connect(self.url, region=self.region, token=self.token, trust=self.trust)

    def streams(self) -> list[str]:
        with closing(self.kinesis()) as client:
            pages = client.get_paginator("list_streams").paginate()
            return [name for page in pages for name in page["StreamNames"]]

    def s3(self) -> S3Client:
        return connect_s3(self.url, region=self.region, token=self.token, trust=self.trust)
