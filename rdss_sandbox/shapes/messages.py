"""Messages: list rows, whole messages, counts, and messages to send."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

Label: TypeAlias = str | int | float | None
"""The value of a label, a field that is a contract's own; None where it could not be read."""


class MessageRow(msgspec.Struct, frozen=True):
    """A message as the list shows it.

    ``id`` counts from 1 without gaps, in the order in which messages were indexed. ``time`` is when the
    stream accepted it, in seconds since the epoch. ``size`` is in bytes. A field that could not be read from
    the header is None. ``marks``: ``duplicate`` (its messageId, or its payload where it has none, was in
    this stream before), ``retried`` (a duplicate with another payload than the one before: the sender built
    it again), ``oversize`` (over 1,000,000 bytes), ``late`` (accepted after its expirationTimestamp, or more
    than a minute after its publishedTimestamp).

    ``message_class``, ``tenant`` and ``version`` are labels of the contract ``rdss``. A message of another
    contract lacks them, and has that contract's labels in ``labels``, by their columns in ``GET /contract``.
    """

    id: int
    time: float
    stream: str
    shard: str
    sequence_number: str
    partition_key: str
    message_id: str | None
    message_type: str | None
    sequence: str | None
    position: int | None
    total: int | None
    size: int
    code: str | None
    marks: tuple[str, ...]
    message_class: str | UnsetType | None = UNSET
    tenant: int | UnsetType | None = UNSET
    version: str | UnsetType | None = UNSET
    labels: dict[str, Label] | UnsetType = UNSET


class StoredMessage(MessageRow, frozen=True, kw_only=True):
    """A message as the list shows it, with its payload as it was sent, in base64."""

    data: bytes


class MessagePage(msgspec.Struct, frozen=True):
    """A page of messages. ``total`` messages match the filter; ``last`` is the highest id of all messages.

    While many are new, not all of them are ``indexed``: ask again.
    """

    messages: tuple[MessageRow, ...]
    total: int
    last: int
    indexed: bool = True


class MessageDetail(MessageRow, frozen=True, kw_only=True):
    """A whole message.

    ``header`` and ``body`` are None when the payload has not the form of a message; the header is, too, where
    the contract's messages have none. Headers that a transport carried beside a message are its header.
    ``raw`` is the payload as text; a payload that is not UTF-8 is in ``raw_base64``. Both are None once the
    record has left the stream.
    ``events`` are the events that name its messageId.
    """

    header: dict[str, Any] | None = None
    body: Any = None
    raw: str | None = None
    raw_base64: str | None = None
    events: tuple[dict[str, Any], ...] = ()


class Original(msgspec.Struct, frozen=True):
    """A message as its sender sent it, in base64: what a queue wrapped is unwrapped.

    ``redriven`` is how often it was sent again from a queue. ``origin`` is the first stream that had it
    beside the error and invalid queues and the audit log; None where none is known.
    """

    data: bytes
    redriven: int
    origin: str | None = None


class MessageRead(msgspec.Struct, frozen=True):
    """A message was given to a reader at the time ``at``, in seconds since the epoch.

    ``message`` is its id, ``client`` names who reads, as in ``Reader``. ``after`` is the same time, or an
    earlier one where single reads of long ago are not kept any more: it was given between the two.
    """

    message: int
    stream: str
    shard: str
    client: str
    after: float
    at: float


class MessageReads(msgspec.Struct, frozen=True):
    """Who was given messages, oldest first. ``known`` is False where an upstream has the streams."""

    reads: tuple[MessageRead, ...]
    known: bool = True


class Count(msgspec.Struct, frozen=True):
    """The number of messages with this ``value``; None counts the messages without one."""

    value: str | None
    count: int


class Counts(msgspec.Struct, frozen=True):
    """The number of messages for each value of a field, the most frequent first."""

    counts: tuple[Count, ...]


class NewMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A payload to send unchanged, in base64. The partition key ``key`` is the messageId by default."""

    stream: Annotated[str, msgspec.Meta(examples=["input"])]
    data: Annotated[bytes, msgspec.Meta(examples=["e30="])]
    key: str | None = None


class Redrive(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How to send a message again: to the ``stream``, by default where it came from.

    ``data``, in base64, is sent in its place: the message as somebody edited it.
    """

    stream: str | None = None
    data: bytes | None = None


class Sent(msgspec.Struct, frozen=True):
    """The record that a sent message became."""

    stream: str
    shard: str
    sequence_number: str


class WantedSamples(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Samples to make and send: ``count`` of them, each of so many ``parts``, or ``bad`` for an error code.

    All are 100 parts at most. The same ``seed`` makes the same messages, but for their dates; by default one
    is drawn.
    """

    stream: Annotated[str, msgspec.Meta(examples=["input"])]
    count: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    seed: int | None = None
    parts: Annotated[int, msgspec.Meta(ge=2, le=20)] | None = None
    bad: str | None = None


class SentSamples(msgspec.Struct, frozen=True):
    """What became of samples: the ``records`` that they are in the stream, and how many were ``refused``.

    ``why`` is the last refusal, such as that of a fault; ``seed`` is the one that made the messages.
    """

    stream: str
    seed: int
    records: int
    refused: int = 0
    why: str = ""
