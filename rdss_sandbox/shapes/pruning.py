"""Pruning of objects and events by age and by size."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rdss_sandbox.shapes.topology import BucketName


class Prune(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A request to remove objects and events. ``older_than`` or ``keep_bytes`` is required.

    ``older_than`` removes what is older, in seconds of the sandbox's clock. ``keep_bytes`` keeps the newest
    bytes of each bucket and of the events and removes the rest. With both, either condition is enough.
    ``buckets`` are by default those of the audit log and the archives; there, only objects that were loaded
    from a stream are removed. In named buckets any object is removed, and events are left alone.
    ``dry_run`` removes nothing and returns what would be removed.
    """

    older_than: Annotated[float, msgspec.Meta(ge=0)] | None = None
    keep_bytes: Annotated[int, msgspec.Meta(ge=0)] | None = None
    buckets: tuple[BucketName, ...] = ()
    dry_run: bool = False


class PrunedPart(msgspec.Struct, frozen=True):
    """The numbers removed and kept in one bucket, or in ``events``, and the bytes removed."""

    name: str
    removed: int
    bytes: int
    kept: int


class Pruned(msgspec.Struct, frozen=True):
    """The result of a pruning, or with ``dry_run`` its forecast."""

    dry_run: bool
    parts: tuple[PrunedPart, ...]
