"""Writing records: each is rendered once, into the line in which it will leave; a shard's share is one block."""

from __future__ import annotations

from json.encoder import encode_basestring_ascii as quote
from typing import NamedTuple

import msgspec

from emulator.kinesis.stream import Shard, Stream

_LOW = tuple(f"{i:04d}" for i in range(10_000))


class Entry(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A record to put; ``Data`` is valid base64."""

    Data: str
    PartitionKey: str | None = None
    ExplicitHashKey: str | None = None


class Written(msgspec.Struct):
    """What came of a call: an answer (JSON) for each entry in order, where records went, and the failures."""

    answers: list[str]
    shards: list[Shard] = []
    failed: int = 0
    reason: str = ""


class _Block(NamedTuple):
    """What one shard takes of a call: its lines, and what is answered for each."""

    payload: bytes
    size: int
    arrival: int
    answers: list[str]


def write(stream: Stream, entries: list[Entry], sizes: list[int], now: int) -> Written:
    """Append ``entries`` with ``sizes`` bytes of data at ``now`` ms, in one block for each shard.

    A block that cannot be written fails its own entries and no others.
    """
    written = Written([""] * len(entries))
    horizon = stream.horizon(now)
    for shard, indexes in stream.route(entries).items():
        block = _render(shard, entries, sizes, indexes, shard.arrival(now), stream.state.encryption)
        shard.records.trim(horizon)
        answers = block.answers
        try:
            shard.records.append(block.payload, len(indexes), block.size, block.arrival)
            written.shards.append(shard)
        except OSError as error:
            written.failed += len(indexes)
            written.reason = f"the records could not be stored: {error}"
            failure = msgspec.json.encode({"ErrorCode": "InternalFailure", "ErrorMessage": written.reason})
            answers = [failure.decode()] * len(indexes)
        if len(indexes) == len(entries):
            written.answers = answers
        else:
            for i, answer in zip(indexes, answers, strict=True):
                written.answers[i] = answer
    return written


def _render(
    shard: Shard,
    entries: list[Entry],
    sizes: list[int],
    indexes: range | list[int],
    arrival: int,
    encryption: str,
) -> _Block:
    """The lines and the answers of a shard's entries, laid out column by column: no work in Python per byte."""
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
    return _Block("".join(lines).encode(), size, arrival, answers)


def _ordinals(first: int, count: int) -> list[str]:
    """``count`` ordinals of 16 digits from ``first`` on."""
    numbers: list[str] = []
    while count:
        high, low = divmod(first, len(_LOW))
        run = _LOW[low : low + count]
        top = f"{high:012d}"
        numbers += [top + number for number in run]
        first += len(run)
        count -= len(run)
    return numbers
