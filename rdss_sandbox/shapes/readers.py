"""Who reads which shard, as the control API shows it."""

from __future__ import annotations

from typing import Literal

import msgspec


class Reader(msgspec.Struct, frozen=True):
    """Somebody who reads a stream.

    ``kind``: ``iterator`` (GetShardIterator and GetRecords, followed from one iterator to the next),
    ``subscription`` (SubscribeToShard, running now), ``consumer`` (registered for enhanced fan-out, without a
    subscription; it has no ``shard`` and no ``position``). ``position`` is the sequence number of the last
    record passed, ``behind`` how many wait behind it, ``late`` how long the first of them has waited, in
    seconds. ``began`` and ``seen`` say when it was first and last heard of, in seconds since the epoch.
    """

    stream: str
    kind: Literal["iterator", "subscription", "consumer"]
    shard: str | None
    consumer: str | None
    position: str | None
    behind: int
    late: float
    began: float
    seen: float
    reads: int
    records: int


class ReaderList(msgspec.Struct, frozen=True):
    """Everybody who reads a stream; ``known`` is False where an upstream has the streams.

    ``unread`` are the records that no reader has passed since the sandbox started, by stream: those in shards
    that nobody reads, such as children of a split, as well. A stream that nobody has read is not in it.
    """

    readers: tuple[Reader, ...]
    known: bool = True
    unread: dict[str, int] = {}
