"""The messages that topics send: one struct for each, with the public header names.

An empty header is left out of the encoded message. Times are ISO 8601.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from extensions.topics.engine.commands import NO_DATA

Reason: TypeAlias = Literal["deleted", "expired", "filter", "entitlement"]
Status: TypeAlias = Literal["success", "failure"]


class _Message(msgspec.Struct, tag_field="cmd", omit_defaults=True, gc=False):
    """The base of all messages; ``gc=False`` since a message is never part of a reference cycle."""


class PublishMessage(_Message, tag="publish"):
    """A message of ``topic`` for the subscriptions ``sids``: as it was published, or its delta.

    ``timestamp`` is the time of processing, if the subscription asked for it. ``lease_period`` is the end of
    the lease of a queue's message. A message in the transaction log has a ``bookmark``, one in a state of the
    world a ``sow_key``.
    """

    topic: str
    data: msgspec.Raw
    sids: str = ""
    correlation_id: str = ""
    user_id: str = ""
    bookmark: str = ""
    timestamp: str = ""
    lease_period: str = msgspec.field(default="", name="leaseperiod")
    sow_key: str = ""


class SowRecord(msgspec.Struct, omit_defaults=True, gc=False):
    """One record in a ``sow`` message; ``msg_len`` is the length in bytes of the next record's data."""

    sow_key: str
    data: msgspec.Raw
    correlation_id: str = ""
    msg_len: int | None = None


class SowMessage(_Message, tag="sow"):
    """``batch_size`` records of ``topic`` that the query ``query_id`` found.

    ``sow_key`` and ``msg_len`` (in bytes) are those of the first record.
    """

    topic: str
    query_id: str
    data: tuple[SowRecord, ...]
    batch_size: int
    timestamp: str
    sow_key: str
    msg_len: int


class OofMessage(_Message, tag="oof"):
    """The record ``sow_key`` no longer belongs to the subscriptions ``sids`` (out of focus).

    ``data`` is the updated record, or the last one before it was deleted or expired; empty for
    ``entitlement``.
    """

    topic: str
    sow_key: str
    reason: Reason
    sids: str
    correlation_id: str = ""
    data: msgspec.Raw = NO_DATA


class GroupBegin(_Message, tag="group_begin"):
    """The records of the query ``query_id`` follow."""

    query_id: str


class GroupEnd(_Message, tag="group_end"):
    """All records of the query ``query_id`` have been sent."""

    query_id: str


class Ack(_Message, tag="ack"):
    """The outcome of the command ``cmd_id``, or of all commands with a sequence number up to ``seq``.

    ``reason`` is the reason of a failure, or ``duplicate``. A ``stats`` ack has the counts: ``topic_matches``
    records in the topic, ``matches`` of them that match, and the returned or deleted records.
    """

    ack_type: str
    status: Status
    cmd_id: str = ""
    seq: int | None = None
    reason: str = ""
    sub_id: str = ""
    query_id: str = ""
    bookmark: str = ""
    topic_matches: int | None = None
    matches: int | None = None
    records_returned: int | None = None
    records_deleted: int | None = None


Message: TypeAlias = PublishMessage | SowMessage | OofMessage | GroupBegin | GroupEnd | Ack
