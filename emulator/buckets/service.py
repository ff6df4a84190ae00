"""The sandbox's own buckets as its parts use them, whoever keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from emulator.channels import Checkpoints

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class BucketService(Protocol):
    """The sandbox's own buckets; ``started`` is whether anything was put into any."""

    @property
    def started(self) -> bool: ...

    def want(self, names: Iterable[str], /) -> tuple[str, ...]:
        """Have these too; those that are new."""

    def empty(self) -> None: ...

    def client(self) -> S3Client: ...

    def loaded(self, name: str, began: Callable[[str], int], /) -> Checkpoints:
        """How far the one stream that is loaded into a bucket was by earlier processes.

        ``began`` gives the sequence number at which one of its shards begins.
        """
