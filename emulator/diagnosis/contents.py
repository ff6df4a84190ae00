"""Looks through what streams hold: only while somebody asks, a little at a time, and each record once.

Of each stream the last ``MOST_MESSAGES`` messageIds are remembered with a digest, and as many open sequences.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from emulator.clock import stopwatch
from emulator.diagnosis.strikes import Strikes
from emulator.kinesis.sequence_numbers import Position, position
from emulator.streams.catalogue import Catalogue, ListedStream
from emulator.streams.merged_reading import Record, ShardKey
from rdss_sandbox.installation import find_missing
from rdss_sandbox.shapes.recorded_exchange import BadMessage, Contents, OpenSequence
from rdss_sandbox.shapes.streams import Shard
from schemas.envelope import oversize
from schemas.peek import Peek, identity, peek

if TYPE_CHECKING:
    from schemas.validation import Verdict

MOST_MESSAGES: Final = 50_000
_MOST_SEQUENCES: Final = 5_000
_MOST_KEYS: Final = 10_000
_MOST_SHOWN: Final = 100
_RECORDS_A_READ: Final = 500

FindWriters = Callable[[int, Position], tuple[str, ...]]
"""The clients that may have put a record, from the stream's number and the record's place."""


@dataclass(slots=True)
class _Sequence:
    total: int
    first: float
    last: float
    writers: tuple[str, ...]
    positions: set[int] = field(default_factory=set)

    def missing(self) -> tuple[int, ...]:
        """The first positions that did not come."""
        some = range(1, min(self.total, _MOST_SHOWN) + 1)
        return tuple(place for place in some if place not in self.positions)


@dataclass(slots=True)
class _StreamContents:
    """What was found in one stream so far. ``read`` is, by shard, the last sequence number and the count."""

    label: str
    number: int
    read: dict[str, tuple[str | None, int]] = field(default_factory=dict)
    records: int = 0
    messages: int = 0
    unvalidated: int = 0
    complete_sequences: int = 0
    trimmed: bool = False
    invalid: list[BadMessage] = field(default_factory=list)
    oversize: list[BadMessage] = field(default_factory=list)
    altered: list[BadMessage] = field(default_factory=list)
    digests: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    sequences: OrderedDict[str, _Sequence] = field(default_factory=OrderedDict)
    by_shard: Counter[str] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)


class ContentReader:
    """What the streams of a catalogue hold. Callers hold a lock of their own."""

    def __init__(self, catalogue: Catalogue, strikes: Strikes, find_writers: FindWriters) -> None:
        self._catalogue = catalogue
        self._strikes = strikes
        self._find_writers = find_writers
        self._streams: dict[int, _StreamContents] = {}

    def clear(self) -> None:
        """Forget everything."""
        self._streams.clear()

    def catch_up(self, listed: Iterable[ListedStream], seconds: float) -> bool:
        """Look through new records for about so many real seconds. Returns whether none are left."""
        deadline = stopwatch() + seconds
        streams = list(listed)
        numbers = {_number_of(each) for each in streams}
        self._streams = {number: each for number, each in self._streams.items() if number in numbers}
        return all(self._catch_up_stream(each, deadline) for each in streams)

    def contents_of(self, listed: ListedStream, writers: tuple[str, ...]) -> Contents:
        """What a stream holds as far as it was looked through; ``writers`` are its known writers."""
        found = self._streams.get(_number_of(listed))
        if found is None:
            return Contents(writers=writers)
        fault = self._strikes.find_any(found.label)
        # Where records have expired, parts that came are gone too.
        some = [] if found.trimmed else list(found.sequences.items())[:_MOST_SHOWN]
        incomplete = tuple(
            OpenSequence(name, each.total, each.missing(), each.first, each.last, each.writers, fault)
            for name, each in some
        )
        return Contents(
            found.records,
            found.messages,
            found.complete_sequences + len(found.sequences),
            tuple(found.invalid),
            tuple(found.oversize),
            tuple(found.altered),
            incomplete,
            len(found.keys),
            dict(found.by_shard),
            writers,
            found.unvalidated,
        )

    def _catch_up_stream(self, listed: ListedStream, deadline: float) -> bool:
        number = _number_of(listed)
        found = self._streams.setdefault(number, _StreamContents(listed.label, number))
        shards = listed.view.shards
        open_shards = {shard.id for shard in shards if shard.open}
        if open_shards != found.by_shard.keys():
            found.by_shard = Counter(dict.fromkeys(open_shards, 0))
            found.keys.clear()
        since = max((shard.created for shard in shards if shard.open), default=0.0)
        return all(self._catch_up_shard(found, shard, since, deadline) for shard in shards)

    def _catch_up_shard(self, found: _StreamContents, shard: Shard, since: float, deadline: float) -> bool:
        after, put = found.read.get(shard.id, (None, 0))
        found.trimmed = found.trimmed or shard.put > shard.records
        key = ShardKey(found.label, shard.id, shard.starting_sequence_number)
        while put < shard.put:
            if stopwatch() > deadline:
                return False
            records = self._catalogue.read(key, after, _RECORDS_A_READ)
            if not records:
                break
            for record in records:
                if shard.id in found.by_shard and record.arrived >= since:
                    found.by_shard[shard.id] += 1
                    if len(found.keys) < _MOST_KEYS:
                        found.keys.add(record.partition_key or "")
                self._judge(found, shard.id, record)
            after = records[-1].sequence_number
            last = position(after)
            put = last.ordinal if last else put + len(records)
            found.read[shard.id] = after, put
        return True

    def _judge(self, found: _StreamContents, shard: str, record: Record) -> None:
        """Judge one record. What is no message, and what a receiver rejected, is left alone."""
        found.records += 1
        seen = peek(record.data)
        if seen.message_id is None or seen.error_code is not None:
            return
        found.messages += 1
        fault = self._strikes.find_message(found.label, seen.message_id)

        def report(bad: list[BadMessage], what: str) -> None:
            if len(bad) < _MOST_SHOWN:
                writers = self._writers_of(found, record)
                number = record.sequence_number
                bad.append(BadMessage(shard, number, seen.message_id, record.arrived, what, writers, fault))

        if oversize(record.data):
            report(found.oversize, f"{len(record.data):,} bytes")
        judge = _load_validator()
        verdict = judge(record.data) if judge else None
        if verdict is None:
            found.unvalidated += 1
        elif not verdict.valid:
            violation = verdict.violations[0] if verdict.violations else None
            report(found.invalid, f"{verdict.code}: {violation.message}" if violation else str(verdict.code))
        if (known := identity(seen)) is not None:
            digest = blake2b(record.data, digest_size=8).digest()
            if found.digests.setdefault(known, digest) != digest:
                report(found.altered, "other bytes than before under this messageId")
            if len(found.digests) > MOST_MESSAGES:
                found.digests.popitem(last=False)
        self._note_part(found, seen, record)

    def _note_part(self, found: _StreamContents, seen: Peek, record: Record) -> None:
        if seen.sequence is None or seen.position is None or (seen.total or 1) < 2:
            return
        part_of = found.sequences.get(seen.sequence)
        if part_of is None:
            writers = self._writers_of(found, record)
            part_of = _Sequence(seen.total or 0, record.arrived, record.arrived, writers)
            found.sequences[seen.sequence] = part_of
        part_of.first = min(part_of.first, record.arrived)
        part_of.last = max(part_of.last, record.arrived)
        part_of.positions.add(seen.position)
        if len(part_of.positions) >= part_of.total:
            del found.sequences[seen.sequence]
            found.complete_sequences += 1
        elif len(found.sequences) > _MOST_SEQUENCES:
            found.sequences.popitem(last=False)

    def _writers_of(self, found: _StreamContents, record: Record) -> tuple[str, ...]:
        place = position(record.sequence_number)
        return self._find_writers(found.number, place) if place else ()


@cache
def _load_validator() -> Callable[[bytes], Verdict] | None:
    """The function that validates a message; None where the extra that has it is not installed."""
    if find_missing("messages"):
        return None
    from schemas.validation import judge

    return judge


def _number_of(listed: ListedStream) -> int:
    return int(listed.view.generation)
