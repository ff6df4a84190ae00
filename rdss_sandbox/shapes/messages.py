"""Messages: rows of the list, each one whole, counts, and one to send."""

from __future__ import annotations

from typing import Any

import msgspec


class MessageRow(msgspec.Struct, frozen=True):
    """A message as the list shows it.

    ``id`` counts from 1 without gaps in the order in which messages were seen; ``time`` is when the stream
    took it, seconds since the epoch; ``size`` is bytes; what could not be read from its header is None.
    ``marks``: ``duplicate`` (its messageId, or without one its payload, was in this stream before),
    ``retried`` (a duplicate whose payload differs from the one before: its sender made it anew), ``oversize``
    (over 1,000,000 bytes), ``late`` (taken after its expirationTimestamp, or more than a minute after its
    publishedTimestamp).
    """

    id: int
    time: float
    stream: str
    shard: str
    sequence_number: str
    partition_key: str
    message_id: str | None
    message_type: str | None
    message_class: str | None
    sequence: str | None
    position: int | None
    total: int | None
    size: int
    code: str | None
    tenant: int | None
    version: str | None
    marks: tuple[str, ...]


class MessagePage(msgspec.Struct, frozen=True):
    """Some messages; ``total`` is how many match the filter, ``last`` the highest id, matching or not."""

    messages: tuple[MessageRow, ...]
    total: int
    last: int


class MessageDetail(MessageRow, frozen=True):
    """A message whole.

    ``header`` and ``body`` are None when the message is not JSON of that form; ``raw`` is its text, or None
    for bytes that are not UTF-8, which are in ``raw_base64``; both are None once the stream let go of it.
    ``events`` are those that name its messageId.
    """

    header: dict[str, Any] | None = None
    body: Any = None
    raw: str | None = None
    raw_base64: str | None = None
    events: tuple[dict[str, Any], ...] = ()


class Count(msgspec.Struct, frozen=True):
    """How many messages have this ``value``; None is for those without one."""

    value: str | None
    count: int


class Counts(msgspec.Struct, frozen=True):
    """Counts of messages by one of their fields, the most frequent first."""

    counts: tuple[Count, ...]


class NewMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message to send as it is; ``data`` in base64; ``key`` is the messageId when left out."""

    stream: str
    data: bytes
    key: str | None = None


class Sent(msgspec.Struct, frozen=True):
    """Where a message was put."""

    stream: str
    shard: str
    sequence_number: str
