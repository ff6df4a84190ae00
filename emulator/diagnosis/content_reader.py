"""Looks through what streams hold: only while somebody asks, a little at a time, and each record once.

Of each stream the last ``MOST_MESSAGES`` messageIds and objects are remembered with a digest, and 5,000 open
sequences.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import Any, Final

from emulator.clock import Clock, stopwatch
from emulator.diagnosis.clients import CONTROL_API
from emulator.diagnosis.object_publications import Publication, PublishedObjects
from emulator.diagnosis.strikes import Strikes
from emulator.kinesis.sequence_numbers import Position, position
from emulator.streams.merged_reading import IndexedRecord, ShardKey
from emulator.streams.stream_catalogue import Catalogue, ListedStream
from rdss_sandbox.machine.installation import find_missing
from rdss_sandbox.shapes.recorded_exchange import BadMessage, Contents, OpenSequence
from rdss_sandbox.shapes.streams import Shard
from schemas.contract import Contract, Judge, Peek, Verdict

MOST_MESSAGES: Final = 50_000
_MOST_SEQUENCES: Final = 5_000
_MOST_KEYS: Final = 10_000
_MOST_SHOWN: Final = 100
_OWN: Final = (CONTROL_API,)
# The deadline is looked at between two reads, so one must not take long.
_RECORDS_A_READ: Final = 500
_ON_THE_WAY_SECONDS: Final = 5.0
"""How long a message may take from its sender, whose clock may be a little off, to the stream."""
_AGGREGATED: Final = b"\xf3\x89\x9a\xc2"
"""What a record begins with in which the Kinesis Producer Library has packed several."""

# Asked for each record, and nothing is installed while a sandbox runs.
_find_missing: Final = cache(find_missing)

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
        # A message may claim to be one of any number.
        some = range(1, min(self.total, _MOST_SHOWN) + 1)
        return tuple(place for place in some if place not in self.positions)


class KnownTexts:
    """The text with which each message came first, as a digest: of the last ``MOST_MESSAGES``."""

    def __init__(self) -> None:
        self._digests: OrderedDict[str, Hashable] = OrderedDict()

    def note(self, message: str, digest: Hashable) -> bool | None:
        """Note a message; return whether its text is that of the first time, None where this is the first."""
        if message in self._digests:
            return self._digests[message] == digest
        self._digests[message] = digest
        if len(self._digests) > MOST_MESSAGES:
            self._digests.popitem(last=False)
        return None


@dataclass(slots=True)
class _StreamContents:
    """What was found in one stream so far. ``read`` is, by shard, the last sequence number and the count.

    ``counts`` and ``bad`` are fields of ``Contents``.
    """

    label: str
    number: int
    read: dict[str, tuple[str | None, int]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    bad: defaultdict[str, list[BadMessage]] = field(default_factory=lambda: defaultdict(list))
    trimmed: bool = False
    objects: PublishedObjects = field(default_factory=PublishedObjects)
    texts: KnownTexts = field(default_factory=KnownTexts)
    sequences: OrderedDict[str, _Sequence] = field(default_factory=OrderedDict)
    by_shard: Counter[str] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)


class ContentReader:
    """What the streams of a catalogue hold. Callers hold a lock of their own."""

    def __init__(
        self,
        catalogue: Catalogue,
        strikes: Strikes,
        find_writers: FindWriters,
        clock: Clock,
        contract: Contract,
    ) -> None:
        self._catalogue = catalogue
        self._contract = contract
        self._clock = clock
        self._real = Clock()
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
        numbers = {int(each.view.generation) for each in streams}
        # What was found in a stream goes with it when it is deleted.
        self._streams = {number: each for number, each in self._streams.items() if number in numbers}
        return all(self._catch_up_stream(each, deadline) for each in streams)

    def contents_of(self, listed: ListedStream, writers: tuple[str, ...]) -> Contents:
        """What a stream holds as far as it was looked through; ``writers`` are its known writers."""
        found = self._streams.get(int(listed.view.generation))
        if found is None:
            return Contents(writers=writers)
        fault = self._strikes.find_any(found.label)
        # Where records have expired, parts that came are gone too.
        open_sequences = () if found.trimmed else found.sequences.items()
        some = [(name, each) for name, each in open_sequences if each.writers != _OWN][:_MOST_SHOWN]
        incomplete = tuple(
            OpenSequence(name, each.total, each.missing(), each.first, each.last, each.writers, fault)
            for name, each in some
        )
        objects = found.objects
        versions = {"reused": objects.reused, "changed": objects.changed, "unlinked": objects.unlinked}
        fields: dict[str, Any] = {
            **found.counts,
            **{name: tuple(bad) for name, bad in found.bad.items()},
            **{
                name: tuple(filter(_is_a_clients, (self._describe(found, each, what) for each, what in bad)))
                for name, bad in versions.items()
            },
        }
        fields["sequences"] = found.counts["sequences"] + len(found.sequences)
        return Contents(
            **fields,
            incomplete=incomplete,
            keys=len(found.keys),
            by_shard=dict(found.by_shard),
            writers=writers,
            objects=objects.noted,
            updates=objects.updates,
        )

    def _catch_up_stream(self, listed: ListedStream, deadline: float) -> bool:
        number = int(listed.view.generation)
        found = self._streams.setdefault(number, _StreamContents(listed.label, number))
        shards = listed.view.shards
        open_shards = {shard.id for shard in shards if shard.open}
        # A resharding spreads keys anew, so what they did before it says nothing.
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
            # What was still to be read has expired.
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
            # By the ordinal, for records that have expired were put too.
            put = last.ordinal if last else put + len(records)
            found.read[shard.id] = after, put
        return True

    def _judge(self, found: _StreamContents, shard: str, record: IndexedRecord) -> None:
        """Judge one record. What a receiver rejected is left alone."""
        found.counts["records"] += 1
        peek = self._contract.peek(record.data, record.partition_key or "")
        if peek.error_code is not None:
            found.counts["rejected"] += 1
            return
        fault = self._strikes.find_message(found.label, peek.message_id)
        place = Publication(shard, record.sequence_number, peek.message_id, record.arrived, fault)

        if peek.message_id is not None:
            found.counts["messages"] += 1
            self._judge_message(found, peek, record, place)
            self._note_part(found, peek, record)
        elif not record.data.startswith(_AGGREGATED):
            found.counts["foreign_records"] += 1
            validate = load_validator(self._contract)
            why = describe_refusal(validate(record.data)) if validate else ""
            self._report(found, "foreign", place, f"{why or 'no message'}: {record.data[:40]!r}")

    def _judge_message(
        self, found: _StreamContents, peek: Peek, record: IndexedRecord, place: Publication
    ) -> None:
        if peek.expires is not None:
            found.counts["expiring"] += 1
        validate = load_validator(self._contract)
        if len(record.data) > self._contract.max_bytes:
            self._report(found, "oversize", place, f"{len(record.data):,} bytes")
        elif validate is None:
            found.counts["unvalidated"] += 1
        else:
            verdict = validate(record.data, now=self._sent_at(record) - _ON_THE_WAY_SECONDS)
            self._note_verdict(found, peek, record, place, verdict)
        # A short digest will do: one is kept for each of very many messages.
        known, digest = self._contract.identity(peek), blake2b(record.data, digest_size=8).digest()
        if known is not None and found.texts.note(known, digest) is False:
            self._report(found, "altered", place, "other bytes than before under this messageId")

    def _note_verdict(
        self, found: _StreamContents, peek: Peek, record: IndexedRecord, place: Publication, verdict: Verdict
    ) -> None:
        objects = self._contract.objects
        if verdict.code is None:
            read = objects.read(record.data, peek) if objects else None
            if read is not None:
                found.objects.note(read, peek.message_type or "", place)
        elif verdict.code == self._contract.expired:
            self._report(found, "expired", place, f"it expired at {peek.expires}")
        else:
            self._report(found, "invalid", place, describe_refusal(verdict))

    def _report(self, found: _StreamContents, kind: str, place: Publication, what: str) -> None:
        described = self._describe(found, place, what)
        if len(found.bad[kind]) < _MOST_SHOWN and _is_a_clients(described):
            found.bad[kind].append(described)

    def _sent_at(self, record: IndexedRecord) -> float:
        """The earliest time of its sender's clock at which a record can have been put.

        That clock is the sandbox's or the real one, from which the sandbox's may have been set away since.
        """
        now = self._clock.time()
        ahead = max(0.0, now - self._real.time())
        return record.arrived - ahead if record.arrived <= now else 0.0

    def _describe(self, found: _StreamContents, place: Publication, what: str) -> BadMessage:
        writers = self._list_writers(found, place.sequence_number)
        return BadMessage(
            place.shard, place.sequence_number, place.message_id, place.arrived, what, writers, place.fault
        )

    def _note_part(self, found: _StreamContents, peek: Peek, record: IndexedRecord) -> None:
        part = peek.part
        if part is None or part.total < 2:
            return
        part_of = found.sequences.get(part.sequence)
        if part_of is None:
            writers = self._list_writers(found, record.sequence_number)
            part_of = _Sequence(part.total, record.arrived, record.arrived, writers)
            found.sequences[part.sequence] = part_of
        part_of.first = min(part_of.first, record.arrived)
        part_of.last = max(part_of.last, record.arrived)
        part_of.positions.add(part.position)
        if len(part_of.positions) >= part_of.total:
            del found.sequences[part.sequence]
            found.counts["sequences"] += 1
        elif len(found.sequences) > _MOST_SEQUENCES:
            found.sequences.popitem(last=False)

    def _list_writers(self, found: _StreamContents, sequence_number: str) -> tuple[str, ...]:
        place = position(sequence_number)
        return self._find_writers(found.number, place) if place else ()


def load_validator(contract: Contract) -> Judge | None:
    """What judges a message; None where the extra that has it is not installed."""
    return None if _find_missing("messages") else contract.judge


def describe_refusal(verdict: Verdict) -> str:
    """The error code of a message and what is wrong first; empty for a valid one."""
    why = f": {verdict.violations[0]}" if verdict.violations else ""
    return "" if verdict.code is None else f"{verdict.code}{why}"


def _is_a_clients(bad: BadMessage) -> bool:
    """Whether a client put it, and not whoever uses the control API."""
    return bad.writers != _OWN
