"""Writing records: each is rendered once, as the line of JSON that GetRecords will return.

The records of one call for one shard are one block of the shard's segment.
"""

from __future__ import annotations

from json.encoder import encode_basestring_ascii as quote
from typing import NamedTuple

from emulator.kinesis.entries import Entry, Written
from emulator.kinesis.stream import Shard, Stream
from emulator.kinesis.stream_registry import Registry

_LOW = tuple(f"{i:04d}" for i in range(10_000))
"""The last four digits of an ordinal, rendered in advance."""


class _Stamp(NamedTuple):
    """The fields that all lines of a block share: the arrival (ms) and the encryption type."""

    arrival: int
    encryption: str


class _Block(NamedTuple):
    """The lines that one shard gets from a call, the bytes of data in them, and the answer for each."""

    payload: bytes
    size: int
    answers: list[str]


def write(registry: Registry, stream: Stream, entries: list[Entry], sizes: list[int]) -> Written:
    """Append ``entries`` with ``sizes`` bytes of data now: a block for each shard.

    A block that cannot be written fails its own entries and no others. The engine flushes what was written,
    and makes it known, when it lets go of the registry's lock.
    """
    written = Written([""] * len(entries))
    routed = registry.limits.admit(stream, stream.route(entries), sizes, written)
    now = registry.now_ms()
    horizon = stream.advance_horizon(now)
    for shard, indexes in routed.items():
        stamp = _Stamp(shard.arrival(now, horizon), stream.state.encryption)
        block = _render(shard, entries, sizes, indexes, stamp)
        shard.records.trim(horizon)
        try:
            shard.records.append(block.payload, len(indexes), block.size, stamp.arrival)
        except OSError as error:
            written.fail(indexes, "InternalFailure", f"the records could not be stored: {error}")
            continue
        written.shards.append(shard)
        if len(indexes) == len(entries):
            written.answers = block.answers
        else:
            for i, answer in zip(indexes, block.answers, strict=True):
                written.answers[i] = answer
    registry.touch_written(stream, written.shards)
    return written


def _render(
    shard: Shard, entries: list[Entry], sizes: list[int], indexes: range | list[int], stamp: _Stamp
) -> _Block:
    """Render the lines and the answers of a shard's entries.

    The lines are laid out by columns in one list and joined once: slice assignment fills a column for all
    records in C, where a format for each record would copy its data twice in Python.
    """
    arrival, encryption = stamp
    chosen = entries if len(indexes) == len(entries) else [entries[i] for i in indexes]
    numbers = _ordinals(shard.records.next, len(chosen))
    seconds, millis = divmod(arrival, 1000)
    start = f'{{"SequenceNumber":"{shard.prefix}'
    middle = f'{arrival:013d}","ApproximateArrivalTimestamp":{seconds}.{millis:03d},"Data":"'
    end = "},\n" if encryption == "NONE" else f',"EncryptionType":"{encryption}"}},\n'
    lines = [start, "", middle, "", "", end] * len(chosen)
    lines[1::6] = numbers
    lines[3::6] = [entry.Data for entry in chosen]
    lines[4::6] = [
        '"' if entry.PartitionKey is None else f'","PartitionKey":{quote(entry.PartitionKey)}'
        for entry in chosen
    ]
    tail = f'{arrival:013d}","ShardId":"{shard.id}"}}'
    answers = [f"{start}{number}{tail}" for number in numbers]
    size = sum(sizes) if len(chosen) == len(entries) else sum([sizes[i] for i in indexes])
    return _Block("".join(lines).encode(), size, answers)


def _ordinals(first: int, count: int) -> list[str]:
    """The ``count`` ordinals from ``first`` on, of 16 digits each."""
    numbers: list[str] = []
    while count:
        high, low = divmod(first, len(_LOW))
        run = _LOW[low : low + count]
        top = f"{high:012d}"
        numbers += [top + number for number in run]
        first += len(run)
        count -= len(run)
    return numbers
