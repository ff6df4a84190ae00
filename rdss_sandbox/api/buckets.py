"""Buckets and their objects."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from rdss_sandbox.api.endpoint import GET, Mode, Subject
from rdss_sandbox.api.parameters import SomeLimit
from rdss_sandbox.shapes.buckets import Bucket, BucketList, ObjectPage

# S3 answers in XML, which cannot carry most control characters.
Key: TypeAlias = Annotated[
    str, Meta(pattern=r"^[^\x00-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF]*$", max_length=1024)
]
_MISSING: Final = {"NoSuchBucket": 404}


class Buckets(Subject[Mode], at="/buckets"):
    """Buckets and their objects. A refusal of S3 has its code."""

    @GET("", BucketList, lambda found: found.buckets)
    def buckets(self) -> tuple[Bucket, ...]:
        """The buckets, by name."""

    @GET("/{bucket}/objects", errors=_MISSING)
    def objects(
        self, bucket: str, *, prefix: Key = "", after: Key | None = None, limit: SomeLimit = 1000
    ) -> ObjectPage:
        """Up to ``limit`` objects of a bucket by key, from the first key above ``after``."""

    @GET(
        "/{bucket}/objects/{key:path}",
        media_type="application/octet-stream",
        errors={**_MISSING, "NoSuchKey": 404},
    )
    def object(self, bucket: str, key: str) -> bytes:
        """The content of an object."""
