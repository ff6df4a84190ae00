"""Reading a shard from an ordinal on: lines as they are kept, how far behind they are, and what follows."""

from __future__ import annotations

from typing import Any, NamedTuple

from emulator.kinesis import sequence_numbers
from emulator.kinesis.errors import not_found
from emulator.kinesis.stored_records import DATA_BYTES_IN_ANSWER
from emulator.kinesis.stream import Shard, Stream


class FetchedLines(NamedTuple):
    """Kept lines in ``parts``, and ``reached``, the ordinal after them.

    ``next`` is the ordinal to read next: ``reached``, or None when the shard is closed and ends there.
    ``millis_behind`` is how far the last line is behind ``now``, 0 at the tip of the shard. ``lines`` is how
    many there are: numbers may be missing between them and the ordinal that was asked for.
    """

    parts: list[memoryview]
    reached: int
    next: int | None
    millis_behind: int
    lines: int


def fetch(
    stream: Stream,
    shard: Shard,
    ordinal: int,
    now: int,
    *,
    limit: int,
    max_bytes: int = DATA_BYTES_IN_ANSWER,
) -> FetchedLines:
    """Trim the shard, then read up to ``limit`` records and ``max_bytes`` of data from ``ordinal`` on.

    ``now`` is in ms. Raises ``DamagedLogError``.
    """
    records = shard.records
    records.trim(stream.advance_horizon(now))
    parts, lines, reached = records.read(ordinal, limit, max_bytes)
    # A reader must not take a gap in the numbers for the tip of the shard.
    while lines < limit and records.misses(reached) and (room := max_bytes - sum(map(len, parts))) > 0:
        more = records.read(reached, limit - lines, room)
        parts, lines, reached = parts + more.parts, lines + more.lines, more.next
    if reached >= records.next:
        return FetchedLines(parts, reached, reached if shard.is_open else None, 0, lines)
    arrival = records.arrival_of(reached - 1) or records.arrival_of(reached) or now
    return FetchedLines(parts, reached, reached, max(0, now - arrival), lines)


def fetch_after(
    stream: Stream, shard_id: str, sequence_number: str | None, now: int, *, limit: int
) -> list[memoryview]:
    """Read up to ``limit`` kept lines after a sequence number, or from the oldest on when it is None.

    Raises ResourceNotFoundException and ``DamagedLogError``.
    """
    shard = stream.shard(shard_id)
    ordinal = 1
    if sequence_number is not None:
        position = sequence_numbers.position(sequence_number)
        if position is None or position.prefix != shard.prefix:
            raise not_found(f"{sequence_number} is not a sequence number of shard {shard_id}.")
        ordinal = position.ordinal + 1
    return fetch(stream, shard, ordinal, now, limit=limit).parts


def child_shards(stream: Stream, shard: Shard) -> list[dict[str, Any]]:
    """The ChildShards of an answer at the end of ``shard``, in botocore's shape."""
    return [
        {
            "ShardId": child.id,
            "ParentShards": [p for p in (child.state.parent, child.state.adjacent_parent) if p is not None],
            "HashKeyRange": child.hash_key_range(),
        }
        for child in stream.children(shard)
    ]
