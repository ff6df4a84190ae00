"""The sandbox's own buckets, as its components use them in every profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from emulator.channels.checkpoints import Checkpoints

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class BucketService(Protocol):
    """The sandbox's own buckets. ``started``: S3 has been used, so there may be something in them."""

    @property
    def started(self) -> bool: ...

    def want(self, names: Iterable[str], /) -> tuple[str, ...]:
        """Add buckets to the wanted ones, and return those that are new."""

    def empty(self) -> None: ...

    def client(self) -> S3Client: ...

    def loaded(self, name: str, began: Callable[[str], int], /) -> Checkpoints:
        """How far earlier processes have loaded the one stream that goes into a bucket.

        ``began`` returns the sequence number at which a shard of that stream begins.
        """
