"""What topics send: one struct a message, with the header names that are public.

A header that says nothing is empty and left out when the message is written. Times are ISO 8601.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from emulator.topics.engine.commands import NO_DATA

Reason: TypeAlias = Literal["deleted", "expired", "filter", "entitlement"]
Status: TypeAlias = Literal["success", "failure"]


class _Message(msgspec.Struct, tag_field="cmd", omit_defaults=True, gc=False):
    """Nothing in a message refers back to it, so the collector of cycles need not look."""


class PublishMessage(_Message, tag="publish"):
    """``data`` as it was published to ``topic``, or as a delta made it. ``sids``: for which subscriptions.

    ``timestamp``: when it was processed, if the subscription asked. ``lease_period``: when the lease of a
    queue's message ends. ``bookmark`` if it is in the transaction log, ``sow_key`` if in a state of the
    world.
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
    """``batch_size`` records of ``topic``, as it is here, that the query ``query_id`` found.

    ``sow_key`` and ``msg_len`` (in bytes) are the first record's.
    """

    topic: str
    query_id: str
    data: tuple[SowRecord, ...]
    batch_size: int
    timestamp: str
    sow_key: str
    msg_len: int


class OofMessage(_Message, tag="oof"):
    """The record ``sow_key`` went out of focus of the subscriptions ``sids``.

    ``data`` is the record as updated, or as it was when it was deleted or expired; none for ``entitlement``.
    """

    topic: str
    sow_key: str
    reason: Reason
    sids: str
    correlation_id: str = ""
    data: msgspec.Raw = NO_DATA


class GroupBegin(_Message, tag="group_begin"):
    """The records that ``query_id`` found come next."""

    query_id: str


class GroupEnd(_Message, tag="group_end"):
    """All the records that ``query_id`` found have been sent."""

    query_id: str


class Ack(_Message, tag="ack"):
    """What became of the command ``cmd_id``, or of all with a sequence number up to ``seq``.

    ``reason`` says what was wrong, or ``duplicate``. The counts come with ``stats``: of ``topic_matches``
    records in the topic ``matches`` match, and so many were returned or deleted.
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


Subscribed: TypeAlias = PublishMessage | OofMessage


def handed_to(message: Subscribed) -> Iterator[tuple[str, Subscribed]]:
    """Each subscription that the message is for, with the message as its handler sees it: with one id."""
    for sub_id in message.sids.split(","):
        yield sub_id, msgspec.structs.replace(message, sids=sub_id)
