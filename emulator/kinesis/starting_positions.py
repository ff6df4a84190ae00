"""Where reading starts: the five types of starting position of iterators and subscriptions."""

from __future__ import annotations

from typing import Any

from emulator.kinesis import sequence_numbers
from emulator.kinesis.errors import invalid_argument
from emulator.kinesis.sequence_numbers import Position
from emulator.kinesis.stream import Shard, Stream

_BY_NUMBER = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")


def starting_ordinal(stream: Stream, shard: Shard, position: dict[str, Any], now: int) -> int:
    """Trim the shard and return the ordinal of the first record to read.

    ``position`` is {Type, SequenceNumber, Timestamp}, ``now`` is in ms. Raises InvalidArgumentException.
    """
    kind, sequence_number = position["Type"], position.get("SequenceNumber")
    shard.records.trim(stream.advance_horizon(now))
    if kind == "AT_TIMESTAMP":
        return _at_timestamp(shard, position.get("Timestamp"), now)
    if (sequence_number is None) == (kind in _BY_NUMBER):
        raise invalid_argument(
            "Must either specify (1) AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER and StartingSequenceNumber "
            f"or (2) TRIM_HORIZON or LATEST and no StartingSequenceNumber. Request specified {kind} and "
            f"{'no' if sequence_number is None else 'also a'} StartingSequenceNumber."
        )
    if sequence_number is None:
        return shard.records.first if kind == "TRIM_HORIZON" else shard.records.next
    found = _at_sequence_number(stream, shard, sequence_number)
    behind = kind == "AFTER_SEQUENCE_NUMBER" or _is_behind(shard, found)
    return found.ordinal + 1 if behind else found.ordinal


def _at_timestamp(shard: Shard, timestamp: float | None, now: int) -> int:
    if timestamp is None:
        raise invalid_argument(
            "Must specify timestampInMillis parameter for iterator of type AT_TIMESTAMP. "
            "Current request has no timestamp parameter."
        )
    # A float of seconds may be a hair below its millisecond.
    at = round(timestamp * 1000)
    if at > now:
        raise invalid_argument(
            "The timestampInMillis parameter cannot be greater than the currentTimestampInMillis. "
            f"timestampInMillis: {at}, currentTimestampInMillis: {now}"
        )
    return shard.records.first_at_or_after(at)


def _is_behind(shard: Shard, found: Position) -> bool:
    """Whether a number lies between its record and the next, as a ContinuationSequenceNumber does."""
    arrival = shard.records.arrival_of(found.ordinal) if found.ordinal else shard.state.created
    return arrival is not None and found.arrival > arrival


def _at_sequence_number(stream: Stream, shard: Shard, text: str) -> Position:
    found = sequence_numbers.position(text)
    where = (
        f"StartingSequenceNumber {text} used in GetShardIterator on shard {shard.id} in stream {stream.name} "
        f"under account {stream.account} is invalid"
    )
    if found is None:
        raise invalid_argument(f"{where}.")
    other = next((s for s in stream.shards.values() if s.prefix == found.prefix), None)
    if other is not None and other is not shard:
        raise invalid_argument(
            f"Invalid StartingSequenceNumber. It encodes {other.id}, while it was used in a call to a shard "
            f"with {shard.id}"
        )
    if other is None or found.ordinal > shard.records.next:
        raise invalid_argument(f"{where} because it did not come from this stream.")
    return found
