"""The recorded exchange between clients and streams: all that a rule may judge by.

It is a value: a saved exchange gives the same diagnosis as the live one. Records are named by their ordinal
in their shard, which counts from 1. Times are in seconds since the epoch, durations in real seconds.
"""

from __future__ import annotations

from typing import Final

import msgspec

from rdss_sandbox.ranges import merge
from rdss_sandbox.shapes.recorded_batches import BatchSource, HandledBatch
from rdss_sandbox.shapes.recorded_queues import QueueReading, QueueWriting

PACE_READS: Final = 13
PACE_SECONDS: Final = 2.0
"""Five reads a second are allowed. This is six, so that a client that keeps to the limit never counts."""


class Client(msgspec.Struct, frozen=True):
    """A client. ``name`` is unique; it is made of the other fields, which a request tells.

    ``access_key`` is the id of its access key, ``application`` its SDK's application id, ``agent`` its SDK,
    and ``consumer`` the ARN of a registered consumer. ``calls`` were recorded from ``first`` to ``last``.
    """

    name: str
    access_key: str
    application: str
    agent: str
    consumer: str
    calls: int
    first: float
    last: float


class Reading(msgspec.Struct, frozen=True):
    """A run of reads of a shard, from one starting position on.

    ``start`` is the type of the starting position, empty where it is not known. The records from ``first`` to
    before ``position`` were delivered, between the times in ``delivered``; it is None before the first.
    ``ended`` says that the reader was told of the shard's end. ``busiest`` is the shortest time, in real
    seconds, in which it read ``PACE_READS`` times; None where it always took longer than ``PACE_SECONDS``.
    """

    start: str
    began: float
    first: int
    position: int
    last: float
    reads: int = 0
    delivered: tuple[float, float] | None = None
    ended: bool = False
    busiest: float | None = None


class Expiry(msgspec.Struct, frozen=True):
    """An iterator that expired, ``idle`` real seconds after it was made; it stood before record ``ordinal``.

    ``fault`` is the name of the fault that caused it. ``again`` counts further uses of the same iterator.
    ``renewed`` is when the client asked for the next iterator of the shard, and ``start`` its type.
    """

    at: float
    ordinal: int
    idle: float
    fault: str = ""
    again: int = 0
    renewed: float | None = None
    start: str = ""


class ShardReads(msgspec.Struct, frozen=True):
    """What one client read of one shard: its runs, oldest first, and the iterators that expired.

    ``earlier`` are the records (from, to before) that forgotten runs had delivered.
    """

    client: str
    stream: str
    shard: str
    readings: tuple[Reading, ...]
    earlier: tuple[tuple[int, int], ...] = ()
    expiries: tuple[Expiry, ...] = ()

    @property
    def first_read(self) -> float:
        return self.readings[0].began

    @property
    def ended_at(self) -> float | None:
        """When the client was first told of the shard's end; None where it was not."""
        return min((each.last for each in self.readings if each.ended), default=None)

    @property
    def delivered(self) -> tuple[tuple[int, int], ...]:
        """The records that were delivered, as ascending, separate ranges (from, to before)."""
        ranges = [(each.first, each.position) for each in self.readings if each.position > each.first]
        return merge(*self.earlier, *ranges)


class RefusedAttempt(msgspec.Struct, frozen=True):
    """A record that a client put, or an iterator that it read with, and that was refused at least once.

    ``pauses`` are the real seconds from each refusal to the next try. ``settled`` says that the last try was
    accepted. ``fault`` names the fault that refused it. ``batch`` marks an entry of PutRecords that failed
    while others of its call did not. ``bytes`` is the size of a record.
    """

    client: str
    stream: str
    operation: str
    code: str
    at: float
    pauses: tuple[float, ...] = ()
    settled: bool = False
    fault: str = ""
    batch: bool = False
    message_id: str | None = None
    bytes: int = 0


class Writing(msgspec.Struct, frozen=True):
    """What one client put on one stream: its calls, and the records that were accepted."""

    client: str
    stream: str
    calls: int
    records: int
    first: float
    last: float


class Lease(msgspec.Struct, frozen=True):
    """A lease of KCL's. ``owner`` is a worker, ``table`` the application's table in DynamoDB."""

    table: str
    shard: str
    owner: str
    checkpoint: str
    stream: str = ""


class ShardState(msgspec.Struct, frozen=True):
    """A shard: the records from ``first`` to before ``next`` are kept; ``opened`` is when it was created."""

    id: str
    parents: tuple[str, ...]
    children: tuple[str, ...]
    open: bool
    first: int
    next: int
    opened: float


class BadMessage(msgspec.Struct, frozen=True):
    """A message in a stream that should not be there as it is: ``what`` says why, in words.

    ``writers`` are the clients that may have put it. ``fault`` names the fault that struck it.
    """

    shard: str
    sequence_number: str
    message_id: str | None
    at: float
    what: str
    writers: tuple[str, ...] = ()
    fault: str = ""


class OpenSequence(msgspec.Struct, frozen=True):
    """A sequence of messages that lacks parts: ``missing`` of its ``total`` positions. Times of its parts."""

    sequence: str
    total: int
    missing: tuple[int, ...]
    first: float
    last: float
    writers: tuple[str, ...] = ()
    fault: str = ""


class Contents(msgspec.Struct, frozen=True):
    """What a stream holds, as far as it was looked through: ``messages`` of ``records`` are RDSS messages.

    ``by_shard`` counts the records of each open shard since all of these are open, and ``keys`` their
    different partition keys. ``writers`` are the clients that put records. ``unvalidated`` messages are those
    that nothing could validate, since the validator is not installed.

    ``rejected`` records carry an errorCode; ``foreign_records`` have no messageId that can be read, and
    ``foreign`` are the first of these. ``expiring`` messages have an expirationTimestamp, which those in
    ``expired`` had passed when they were put. ``objects`` counts publications of a digital object in one
    message, and ``updates`` those by MetadataUpdate: ``reused`` ones are another version under an objectUUID
    that was published before, ``changed`` ones the same version with another body, and ``unlinked`` ones are
    updates that name no version before.
    """

    records: int = 0
    messages: int = 0
    sequences: int = 0
    invalid: tuple[BadMessage, ...] = ()
    oversize: tuple[BadMessage, ...] = ()
    altered: tuple[BadMessage, ...] = ()
    incomplete: tuple[OpenSequence, ...] = ()
    keys: int = 0
    by_shard: dict[str, int] = {}
    writers: tuple[str, ...] = ()
    unvalidated: int = 0
    rejected: int = 0
    foreign_records: int = 0
    foreign: tuple[BadMessage, ...] = ()
    expiring: int = 0
    expired: tuple[BadMessage, ...] = ()
    objects: int = 0
    updates: int = 0
    reused: tuple[BadMessage, ...] = ()
    changed: tuple[BadMessage, ...] = ()
    unlinked: tuple[BadMessage, ...] = ()


class StreamState(msgspec.Struct, frozen=True):
    """A stream as it is now. ``forgotten`` says that reads of it were forgotten for lack of room."""

    name: str
    shards: tuple[ShardState, ...]
    contents: Contents = Contents()
    forgotten: bool = False

    def shard(self, shard_id: str) -> ShardState | None:
        return next((each for each in self.shards if each.id == shard_id), None)


class Exchange(msgspec.Struct, frozen=True):
    """All that was recorded until ``taken``."""

    taken: float
    clients: tuple[Client, ...] = ()
    streams: tuple[StreamState, ...] = ()
    reads: tuple[ShardReads, ...] = ()
    refusals: tuple[RefusedAttempt, ...] = ()
    writings: tuple[Writing, ...] = ()
    leases: tuple[Lease, ...] = ()
    queue_readings: tuple[QueueReading, ...] = ()
    queue_writings: tuple[QueueWriting, ...] = ()
    batches: tuple[HandledBatch, ...] = ()
    batch_sources: tuple[BatchSource, ...] = ()

    def stream(self, name: str) -> StreamState | None:
        return next((each for each in self.streams if each.name == name), None)

    def reads_of(self, client: str, stream: str, shard: str) -> ShardReads | None:
        """What a client read of a shard; None where it never asked for it."""
        return next(
            (
                each
                for each in self.reads
                if each.client == client and each.stream == stream and each.shard == shard
            ),
            None,
        )
