"""The sandbox's buckets in an upstream's S3."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from emulator.archive.lambda_loader import OBJECT_NAME
from emulator.channels.checkpoints import Checkpoints
from emulator.channels.checkpoints.bucket_checkpoints import BucketCheckpoints

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class UpstreamBuckets:
    """The sandbox's buckets in an upstream. ``want`` creates the missing ones at once."""

    def __init__(self, client: S3Client, region: str) -> None:
        self._client = client
        self._region = region
        self._names: list[str] = []
        self.trouble: str | None = None
        self.started = True
        self._lock = threading.Lock()

    def want(self, names: Iterable[str]) -> tuple[str, ...]:
        """Create the missing ones of these buckets, and return them; without S3 none (see ``trouble``)."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            made = self._create_missing(names)
        except (BotoCoreError, ClientError) as error:
            self.trouble = f"buckets: {error}"
            return ()
        self.trouble = None
        return made

    def _create_missing(self, names: Iterable[str]) -> tuple[str, ...]:
        with self._lock:
            there = {bucket["Name"] for bucket in self._client.list_buckets()["Buckets"]}
            unique = list(dict.fromkeys(names))
            self._names += [name for name in unique if name not in self._names]
            missing = tuple(name for name in unique if name not in there)
            for name in missing:
                if self._region == "us-east-1":
                    self._client.create_bucket(Bucket=name)
                else:
                    where: Any = {"LocationConstraint": self._region}
                    self._client.create_bucket(Bucket=name, CreateBucketConfiguration=where)
        return missing

    def empty(self) -> None:
        """Delete every object in the wanted buckets."""
        pages = self._client.get_paginator("list_objects_v2")
        for name in self._names:
            for page in pages.paginate(Bucket=name):
                for found in page.get("Contents", ()):
                    self._client.delete_object(Bucket=name, Key=found["Key"])

    def client(self) -> S3Client:
        """A boto3 client of the upstream."""
        return self._client

    def loaded(self, name: str, began: Callable[[str], int]) -> Checkpoints:
        return BucketCheckpoints(self._client, name, OBJECT_NAME, began)

    def close(self) -> None:
        self._client.close()
