"""What the wire showed: the Kinesis calls of a client, in the order of their answers."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Delivery(msgspec.Struct, frozen=True):
    """A record in an answer to a client. ``message_id`` is None for a record that is no message."""

    sequence_number: str
    message_id: str | None


class IteratorRequest(msgspec.Struct, frozen=True, tag="iterator"):
    """A GetShardIterator call; ``start`` is its ShardIteratorType, ``after`` its sequence number."""

    at: float
    life: int
    stream: str
    shard: str
    start: str
    after: str | None = None
    error: str = ""


class Read(msgspec.Struct, frozen=True, tag="read"):
    """A GetRecords call, or an event of SubscribeToShard (``pushed``).

    ``iterator`` is a short name of the iterator that was used. ``ended`` says that the shard has no more.
    ``error`` is the code of a refusal, or ``disconnect`` where the connection was cut.
    """

    at: float
    life: int
    stream: str
    shard: str
    iterator: str = ""
    records: tuple[Delivery, ...] = ()
    ended: bool = False
    pushed: bool = False
    error: str = ""


class PutEntry(msgspec.Struct, frozen=True):
    """A record that a client put. ``error`` is the code with which this entry was refused."""

    message_id: str | None
    digest: str
    size: int
    partition_key: str
    error: str = ""


class Put(msgspec.Struct, frozen=True, tag="put"):
    """A PutRecord or PutRecords call (``batch``); ``error`` is the code of a call refused as a whole.

    ``asked`` and ``at`` are when the call came and when it was answered.
    """

    asked: float
    at: float
    life: int
    stream: str
    entries: tuple[PutEntry, ...]
    batch: bool = False
    error: str = ""


Exchange: TypeAlias = IteratorRequest | Read | Put
