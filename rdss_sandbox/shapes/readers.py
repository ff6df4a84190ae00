"""The readers of streams, as the control API shows them."""

from __future__ import annotations

from typing import Literal

import msgspec

from rdss_sandbox.shapes.recorded_exchange import Lease


class Reader(msgspec.Struct, frozen=True):
    """A reader of a stream.

    ``kind``: ``iterator`` (GetShardIterator, then a chain of GetRecords), ``subscription`` (a running
    SubscribeToShard), ``consumer`` (registered for enhanced fan-out but not subscribed; its ``shard`` and
    ``position`` are null). ``position`` is the sequence number of the last record it read. ``behind`` is the
    number of records after it, and ``late`` the seconds that the first of these has waited. ``began`` and
    ``seen`` are its first and last read, in seconds since the epoch. ``client`` names who reads, by access
    key, application id and SDK; it is null where that is not known.
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
    client: str | None = None


class ReaderList(msgspec.Struct, frozen=True):
    """The readers of streams. ``known`` is False where an upstream has the streams.

    Then the readers are those whose reads passed the sandbox; their ``position`` is null and ``late`` 0.

    ``unread`` is, by stream, the number of records that no reader has read since the sandbox started. It
    includes shards without a reader, such as the children of a split, and what a start at LATEST passed over.
    Streams without a reader are left out. ``leases`` are those of KCL's workers, from their tables in
    DynamoDB.
    """

    readers: tuple[Reader, ...]
    known: bool = True
    unread: dict[str, int] = {}
    leases: tuple[Lease, ...] = ()
