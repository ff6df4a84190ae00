"""Where reading starts: the five kinds of position that iterators and subscriptions know."""

from __future__ import annotations

from typing import Any

from emulator.kinesis import sequence_numbers
from emulator.kinesis.errors import invalid_argument
from emulator.kinesis.stream import Shard, Stream


def starting_ordinal(stream: Stream, shard: Shard, position: dict[str, Any], now: int) -> int:
    """The number of the first record to read for a position {Type, SequenceNumber, Timestamp} at ``now`` ms.

    Raises InvalidArgumentException.
    """
    kind = position["Type"]
    shard.records.trim(stream.horizon(now))
    if kind == "TRIM_HORIZON":
        return shard.records.first
    if kind == "LATEST":
        return shard.records.next
    if kind == "AT_TIMESTAMP":
        return _at_timestamp(shard, position, now)
    if position.get("SequenceNumber") is None:
        raise invalid_argument(
            f"Must specify a sequence number when the position in shard {shard.id} is {kind}."
        )
    return _at_sequence_number(stream, shard, position["SequenceNumber"], kind)


def _at_timestamp(shard: Shard, position: dict[str, Any], now: int) -> int:
    if position.get("Timestamp") is None:
        raise invalid_argument("Must specify Timestamp when the position in a shard is AT_TIMESTAMP.")
    at = round(position["Timestamp"] * 1000)
    if at > now:
        raise invalid_argument(f"The timestamp {position['Timestamp']} must not be in the future.")
    return shard.records.first_at_or_after(at)


def _at_sequence_number(stream: Stream, shard: Shard, text: str, kind: str) -> int:
    found = sequence_numbers.position(text)
    where = (
        f"StartingSequenceNumber {text} used in GetShardIterator on shard {shard.id} in stream {stream.name}"
    )
    if found is None:
        raise invalid_argument(f"{where} under account {stream.account} is invalid.")
    if found.prefix != shard.prefix or found.ordinal > shard.records.next:
        raise invalid_argument(
            f"{where} under account {stream.account} is invalid because it did not come from this stream."
        )
    return found.ordinal + (kind == "AFTER_SEQUENCE_NUMBER")
