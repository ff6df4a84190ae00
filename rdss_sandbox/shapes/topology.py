"""The topology: which streams and buckets a sandbox has, and what is kept where."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

StreamName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z0-9_.-]{1,128}$")]


BucketName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]


class AuditTap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The audit log: messages of the streams in ``taps`` go to ``stream`` and from there into ``bucket``."""

    stream: StreamName = "audit"
    bucket: BucketName = "rdss-audit"
    taps: tuple[StreamName, ...] = ("input", "output", "error", "invalid")


TransitionSeconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=86_400)]


class Topology(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Streams by name with the number of shards each is made with, and buckets, that shall be there.

    ``archives`` says which stream's messages are kept in which bucket: the error and the invalid queue.
    Their messages can be claimed, as can those of the streams that ``claimable`` names. When a sandbox starts
    with it, ``transition_seconds`` of the clock is how long streams are CREATING, UPDATING and DELETING.
    """

    streams: dict[StreamName, Annotated[int, msgspec.Meta(ge=1, le=10_000)]] = {}
    buckets: tuple[BucketName, ...] = ()
    audit: AuditTap | None = None
    archives: dict[StreamName, BucketName] = {}
    claimable: tuple[StreamName, ...] = ()
    transition_seconds: TransitionSeconds = 0.0


class Populated(msgspec.Struct, frozen=True):
    """What had to be made for it."""

    streams: tuple[str, ...]
    buckets: tuple[str, ...]
