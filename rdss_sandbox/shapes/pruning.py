"""The control API's shapes of what is removed because it is old, or too much."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rdss_sandbox.shapes.topology import BucketName


class Prune(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What to remove of objects and events; one of the first two is needed, and with both either is enough.

    ``older_than`` is an age in seconds on the sandbox's clock. ``keep_bytes`` is how much of each bucket, and
    of the events, may stay, the newest. ``buckets`` are by default those of the audit log and the archives;
    there only what was loaded from a stream is removed; in a bucket that is named, every object, and then no
    events. With ``dry_run`` it is only said what would be removed.
    """

    older_than: Annotated[float, msgspec.Meta(ge=0)] | None = None
    keep_bytes: Annotated[int, msgspec.Meta(ge=0)] | None = None
    buckets: tuple[BucketName, ...] = ()
    dry_run: bool = False


class PrunedPart(msgspec.Struct, frozen=True):
    """What was removed of a bucket, or of ``events``: how many, their bytes, and how many were kept."""

    name: str
    removed: int
    bytes: int
    kept: int


class Pruned(msgspec.Struct, frozen=True):
    """What was removed, or with ``dry_run`` would have been."""

    dry_run: bool
    parts: tuple[PrunedPart, ...]
