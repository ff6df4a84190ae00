"""Writing records: each is rendered once, as the line of JSON that GetRecords will return.

The records of one call for one shard are one block of the shard's segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quote

from pybase64 import b64encode

from emulator.kinesis.entries import Entry, Written
from emulator.kinesis.errors import internal_failure
from emulator.kinesis.scope import Scope
from emulator.kinesis.stream import Shard, Stream
from emulator.kinesis.stream_registry import Registry

_LOW = tuple(f"{i:04d}" for i in range(10_000))
"""The last four digits of an ordinal, rendered in advance."""


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
        # One shard for all is the usual case, and needs no lists of its own.
        alone = len(indexes) == len(entries)
        chosen = entries if alone else [entries[i] for i in indexes]
        size = sum(sizes) if alone else sum([sizes[i] for i in indexes])
        arrival = shard.arrival(now, horizon)
        lines, answers = _render(shard, chosen, arrival, stream.state.encryption)
        shard.records.trim(horizon)
        try:
            shard.records.append(lines, len(chosen), size, arrival)
        except OSError as error:
            written.fail(indexes, "InternalFailure", f"the records could not be stored: {error}")
            continue
        written.shards.append(shard)
        if alone:
            written.answers = answers
        else:
            for i, answer in zip(indexes, answers, strict=True):
                written.answers[i] = answer
    registry.touch_written(stream, written.shards)
    return written


def append(registry: Registry, name: str, records: Sequence[tuple[bytes, str]], scope: Scope) -> None:
    """Append records of the sandbox's own to the only shard of a stream now, as one block.

    Each has its partition key. Nothing about them is judged, and nothing is answered. The engine flushes the
    block as it does those of ``write``. Raises ``KinesisError`` when there is no such stream, and
    InternalFailure when they cannot be stored.
    """
    stream = registry.named(name, scope)
    shard = stream.open_shards[0]
    now = registry.now_ms()
    horizon = stream.advance_horizon(now)
    arrival = shard.arrival(now, horizon)
    start, middle, end = _affixes(shard, arrival, stream.state.encryption)
    # By columns, as in ``_render``.
    pieces = [start.encode(), b"", middle.encode(), b"", b""] * len(records)
    first = shard.records.next
    pieces[1::5] = [b"%016d" % ordinal for ordinal in range(first, first + len(records))]
    pieces[3::5] = [b64encode(data) for data, _ in records]
    pieces[4::5] = [_render_tail(key, end) for _, key in records]
    size = sum([len(data) for data, _ in records])
    shard.records.trim(horizon)
    try:
        shard.records.append(b"".join(pieces), len(records), size, arrival)
    except OSError as error:
        raise internal_failure(f"the records could not be stored: {error}") from error
    registry.touch_written(stream, [shard])


@lru_cache(maxsize=1024)
def _render_tail(key: str, end: str) -> bytes:
    """What follows a record's data. Most have a key that was there before."""
    return f'","PartitionKey":{quote(key)}{end}'.encode()


def _affixes(shard: Shard, arrival: int, encryption: str) -> tuple[str, str, str]:
    """What a line has before its ordinal, between that and its data, and at its end."""
    seconds, millis = divmod(arrival, 1000)
    return (
        f'{{"SequenceNumber":"{shard.prefix}',
        f'{arrival:013d}","ApproximateArrivalTimestamp":{seconds}.{millis:03d},"Data":"',
        "},\n" if encryption == "NONE" else f',"EncryptionType":"{encryption}"}},\n',
    )


def _render(shard: Shard, entries: list[Entry], arrival: int, encryption: str) -> tuple[bytes, list[str]]:
    """Render the lines of a shard's entries that arrive at ``arrival`` (ms), and the answer for each.

    The lines are laid out by columns in one list and joined once: slice assignment fills a column for all
    records in C, where a format for each record would copy its data twice in Python.
    """
    numbers = _ordinals(shard.records.next, len(entries))
    start, middle, end = _affixes(shard, arrival, encryption)
    lines = [start, "", middle, "", "", end] * len(entries)
    lines[1::6] = numbers
    lines[3::6] = [entry.Data for entry in entries]
    lines[4::6] = [
        '"' if entry.PartitionKey is None else f'","PartitionKey":{quote(entry.PartitionKey)}'
        for entry in entries
    ]
    tail = f'{arrival:013d}","ShardId":"{shard.id}"}}'
    return "".join(lines).encode(), [f"{start}{number}{tail}" for number in numbers]


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
