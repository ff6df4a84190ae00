"""Calls of Kinesis for those who record what passes: the bytes of each, but the records that were read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final, NamedTuple, TypeAlias

import cbor2
import msgspec

from emulator.clock import stopwatch
from emulator.kinesis.scope import Scope, stream_named
from emulator.listeners.aws.error_bodies import CBOR_1_1
from emulator.streams.wiretap import Wiretap
from rdss_sandbox.shapes.recordings import KinesisCall
from rdss_sandbox.shapes.tape import TapedMessage, TapedRead

TAPPED: Final = frozenset(
    {
        "PutRecord", "PutRecords", "GetShardIterator", "GetRecords",
        "CreateStream", "DeleteStream", "SplitShard", "MergeShards", "UpdateShardCount",
    }
)  # fmt: skip
_NOTE_BYTES: Final = 200
"""About what the note of an event takes while it waits for who records it."""
PutRecord: TypeAlias = Callable[[dict[str, Any], Scope], Awaitable[dict[str, Any]]]
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


async def tap_events(
    tap: Wiretap,
    request: dict[str, Any],
    events: AsyncGenerator[tuple[str, dict[str, Any]], None],
    client: str,
) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
    """Hand what a subscription to a shard pushes to those who record."""
    stream, shard = stream_named(request) or "", request.get("ShardId", "")
    async with aclosing(events):
        async for kind, event in events:
            if tap.on and kind == "SubscribeToShardEvent":
                records = event.get("Records", ())
                size, ended = sum(len(each["Data"]) for each in records), bool(event.get("ChildShards"))
                read = TapedRead(
                    tap.clock.time(), stream, "SubscribeToShard", client, shard,
                    records=len(records), size=size, ended=ended,
                )  # fmt: skip
                tap.note(read, _NOTE_BYTES)
            yield kind, event


def tap_puts(tap: Wiretap, put: PutRecord) -> PutRecord:
    """As ``put``, which is of nobody's call: hand what it puts to those who record."""

    async def put_and_tap(request: dict[str, Any], scope: Scope) -> dict[str, Any]:
        came = stopwatch()
        answer = await put(request, scope)
        if tap.on:
            data, key = request["Data"], request["PartitionKey"]
            message = TapedMessage(
                tap.clock.time(), request["StreamName"], data, len(data), key, answer["ShardId"],
                answer["SequenceNumber"], stopwatch() - came,
            )  # fmt: skip
            tap.note(message, len(data))
        return answer

    return put_and_tap


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
