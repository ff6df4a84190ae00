"""The records in an event of a stream or a queue, whoever invokes with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec


class EventRecord(NamedTuple):
    """A record: ``number`` is its sequence number, or the queue's id of it; ``source`` is an ARN.

    ``shard`` is empty for a queue, ``receipt`` for a stream.
    """

    number: str
    data: bytes
    key: str
    source: str
    shard: str = ""
    receipt: str = ""


class _Kinesis(msgspec.Struct, rename="camel"):
    sequence_number: str
    data: bytes
    partition_key: str


class _WrittenRecord(msgspec.Struct):
    kinesis: _Kinesis | None = None
    number: str = msgspec.field(default="", name="messageId")
    body: str = ""
    source: str = msgspec.field(default="", name="eventSourceARN")
    event: str = msgspec.field(default="", name="eventID")
    receipt: str = msgspec.field(default="", name="receiptHandle")


class _Event(msgspec.Struct):
    records: list[_WrittenRecord] = msgspec.field(default_factory=list, name="Records")


_decode: Final = msgspec.json.Decoder(_Event).decode


def list_records(payload: bytes) -> list[EventRecord]:
    """The records of a batch; none where the event is of something else."""
    try:
        return list(_read(_decode(payload)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _read(event: _Event) -> Iterator[EventRecord]:
    for each in event.records:
        if (kinesis := each.kinesis) is not None:
            yield EventRecord(
                kinesis.sequence_number,
                kinesis.data,
                kinesis.partition_key,
                each.source,
                each.event.partition(":")[0],
            )
        else:
            yield EventRecord(each.number, each.body.encode(), "", each.source, receipt=each.receipt)
