"""Calls of Kinesis for those who record what passes: the bytes of each, but the records that were read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import cbor2
import msgspec

from emulator.clock import stopwatch
from emulator.listeners.aws.error_bodies import CBOR_1_1
from emulator.streams.wiretap import Wiretap
from rdss_sandbox.shapes.recordings import KinesisCall

TAPPED: Final = frozenset(
    {
        "PutRecord", "PutRecords", "GetShardIterator", "GetRecords",
        "CreateStream", "DeleteStream", "SplitShard", "MergeShards", "UpdateShardCount",
    }
)  # fmt: skip
_NUMBER: Final = b'"SequenceNumber":'


class _Iterator(msgspec.Struct):
    ShardIterator: str | None = None
    NextShardIterator: str | None = None


_read_iterator: Final = msgspec.json.Decoder(_Iterator).decode


class AnsweredCall(NamedTuple):
    """A call with its bodies, and the moment when it came."""

    operation: str
    content_type: bytes
    body: bytes
    status: int
    answer: bytes
    came: float


def tap_call(tap: Wiretap, call: AnsweredCall, client: str) -> None:
    """Hand a client's call to those who record. One that nobody could read is left out."""
    if call.operation not in TAPPED:
        return
    kind = call.content_type.decode("latin-1")
    passed = KinesisCall(
        tap.clock.time(), stopwatch() - call.came, client, call.operation, kind, call.body, call.status,
        call.answer,
    )  # fmt: skip
    if call.operation == "GetRecords" and call.status == 200:
        try:
            passed = _leave_records_out(passed, *_read_records(call), tap.stream_of_iterator)
        except (msgspec.DecodeError, cbor2.CBORError, UnicodeDecodeError, RecursionError, AttributeError):
            return
    tap.note(passed, len(passed.body) + len(passed.answer))


def _leave_records_out(
    call: KinesisCall, used: str, following: str, records: int, find: Callable[[str], str | None]
) -> KinesisCall:
    return msgspec.structs.replace(
        call,
        body=msgspec.json.encode({"ShardIterator": used}),
        answer=msgspec.json.encode({"NextShardIterator": following} if following else {}),
        stream=find(used) or "",
        records=records,
        size=len(call.answer),
    )


def _read_records(call: AnsweredCall) -> tuple[str, str, int]:
    """The iterator of a read, the next one, and how many records it gave."""
    if call.content_type.startswith(CBOR_1_1):
        asked, given = cbor2.loads(call.body), cbor2.loads(call.answer)
        return asked["ShardIterator"], given.get("NextShardIterator") or "", len(given.get("Records", ()))
    used, following = _read_iterator(call.body), _read_iterator(call.answer)
    # In the text of a key its quotes would be escaped.
    return used.ShardIterator or "", following.NextShardIterator or "", call.answer.count(_NUMBER)
