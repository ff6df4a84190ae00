"""Buckets and the objects in them."""

from __future__ import annotations

import msgspec


class Bucket(msgspec.Struct, frozen=True):
    """A bucket; ``created`` in seconds since the epoch."""

    name: str
    created: float


class BucketList(msgspec.Struct, frozen=True):
    """Every bucket, by name."""

    buckets: tuple[Bucket, ...]


class ObjectRow(msgspec.Struct, frozen=True):
    """An object in a bucket; ``size`` in bytes, ``modified`` in seconds since the epoch."""

    key: str
    size: int
    modified: float


class ObjectPage(msgspec.Struct, frozen=True):
    """Objects by key; ``next`` is the ``after`` of the next page, None on the last."""

    objects: tuple[ObjectRow, ...]
    next: str | None
