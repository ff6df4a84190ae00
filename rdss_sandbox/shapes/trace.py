"""The trace: what a client asked of Kinesis or RabbitMQ, item by item, in the order of the answers."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

DISCONNECT: Final = "disconnect"
"""The error of what ended with its connection."""
UNANSWERED: Final = "unanswered"
"""The error of a call that was given up before it was answered."""


class Delivery(msgspec.Struct, frozen=True):
    """A record in an answer to a client. ``message_id`` is None for a record that is no message.

    What RabbitMQ delivers has the number that the kit gave it as its sequence number.
    """

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
    """A GetRecords call, or an event of SubscribeToShard (``pushed``); of RabbitMQ a get, or a delivery.

    ``iterator`` is a short name of the iterator that was used. ``ended`` says that the shard has no more.
    ``error`` is the code of a refusal, or ``disconnect`` where the connection was cut. ``owed`` says that the
    records have to be acknowledged. A queue counts as one shard of its own name.
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
    owed: bool = False


class PutEntry(msgspec.Struct, frozen=True):
    """A record that a client put. ``error`` is the code with which this entry was refused."""

    message_id: str | None
    digest: str
    size: int
    partition_key: str
    error: str = ""


class Put(msgspec.Struct, frozen=True, tag="put"):
    """A PutRecord or PutRecords call (``batch``); ``error`` is the code of a call refused as a whole.

    ``asked`` and ``at`` are when the call came and when it was answered. A publish to RabbitMQ has the errors
    ``nack``, ``returned``, ``disconnect``, and the reply code of a channel that was closed. Without
    ``confirmed`` the client did not ask for an answer, without ``mandatory`` not for what no queue takes.
    """

    asked: float
    at: float
    life: int
    stream: str
    entries: tuple[PutEntry, ...]
    batch: bool = False
    error: str = ""
    confirmed: bool = True
    persistent: bool = True
    mandatory: bool = True


class Subscription(msgspec.Struct, frozen=True, tag="subscription"):
    """A consumer that a client starts on a queue. ``prefetch`` 0 is no limit."""

    at: float
    life: int
    queue: str
    prefetch: int
    no_ack: bool = False


class Disposition(StrEnum):
    """What a client does with a delivery."""

    ACK = "ack"
    REQUEUE = "requeue"
    DISCARD = "discard"


class Settlement(msgspec.Struct, frozen=True, tag="settlement"):
    """An ack, a nack or a reject of deliveries of a queue."""

    at: float
    life: int
    queue: str
    disposition: Disposition
    records: tuple[Delivery, ...]


TraceItem: TypeAlias = IteratorRequest | Read | Put | Subscription | Settlement
