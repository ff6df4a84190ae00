"""The topology: the streams and buckets of a sandbox, its audit log and its archives."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

StreamName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z0-9_.-]{1,128}$")]


BucketName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]


class AuditTap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The audit log: messages of the streams in ``taps`` are copied to ``stream``, and then to ``bucket``."""

    stream: StreamName = "audit"
    bucket: BucketName = "rdss-audit"
    taps: tuple[StreamName, ...] = ("input", "output", "error", "invalid")


TransitionSeconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=86_400)]


class Topology(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The streams, by name with their first number of shards, and the buckets that a sandbox has.

    ``archives`` maps a stream to the bucket that keeps its messages: the error and the invalid queue. The
    messages of these streams, and of those in ``claimable``, can be claimed. ``transition_seconds`` is the
    time on the clock that a stream stays CREATING, UPDATING or DELETING; it is read when a sandbox starts.
    """

    streams: dict[StreamName, Annotated[int, msgspec.Meta(ge=1, le=10_000)]] = {}
    buckets: tuple[BucketName, ...] = ()
    audit: AuditTap | None = None
    archives: dict[StreamName, BucketName] = {}
    claimable: tuple[StreamName, ...] = ()
    transition_seconds: TransitionSeconds = 0.0


class Populated(msgspec.Struct, frozen=True):
    """The streams and buckets that were missing and are created."""

    streams: tuple[str, ...]
    buckets: tuple[str, ...]
