"""Where in an upstream's shards its iterators and sequence numbers stand, as far as calls have shown it.

An upstream's iterators are opaque, and its sequence numbers do not count. So each shard has a list of the
sequence numbers that passed, and each of them a label: a number that keeps their order, with room between two
for records that are seen later. A call is translated into the engine's iterators and sequence numbers, which
hold labels as ordinals, and is recorded as a call to the engine is. What is read out is counted through.

    upstream's answer --> translate --> recorder (labels) --> renumber --> ordinals, which rules count by
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from emulator.clock import Clock
from emulator.kinesis import ShardView
from emulator.kinesis.iterators import ShardIterator
from emulator.kinesis.scope import stream_named
from emulator.kinesis.sequence_numbers import number as write_number
from emulator.kinesis.sequence_numbers import prefix
from rdss_sandbox.shapes.recorded_exchange import Reading, ShardReads, ShardState

# With room below it, for records that are older than the first one seen.
_FIRST_LABEL: Final = 10**12
_GAP: Final = 16
_MOST_KNOWN: Final = 100_000
_FORGOTTEN_AT_ONCE: Final = 10_000
"""A list is moved when its first is taken away: for each record that would be dear."""
_MOST_ITERATORS: Final = 10_000
_UNKNOWN: Final = "unknown"
"""An iterator whose place is not known. The engine cannot read it, so that no other is taken for it."""

Shape: TypeAlias = dict[str, Any]


class _UpstreamShard(NamedTuple):
    """The number of a stream, and the index of a shard."""

    stream: int
    shard: int


class _KnownPlaces:
    """The records of a shard that are known: their sequence numbers, ascending, with their labels."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.labels: list[int] = []
        self.dropped = 0

    def find_label(self, number: int) -> int:
        """The label of a record, which is known from now on."""
        if self.numbers and number > self.numbers[-1]:
            at = len(self.numbers)
        else:
            at = bisect_left(self.numbers, number)
        if at < len(self.numbers) and self.numbers[at] == number:
            return self.labels[at]
        low = self.labels[at - 1] if at else 0
        if at < len(self.labels):
            half = (self.labels[at] - low) // 2
            # Close behind the one before, to leave room for later ones. Without room two share a label.
            label = min(self.labels[at], low + max(1, min(_GAP, half) if at else half))
        else:
            label = low + _GAP if at else _FIRST_LABEL
        self.numbers.insert(at, number)
        self.labels.insert(at, label)
        if len(self.numbers) >= _MOST_KNOWN + _FORGOTTEN_AT_ONCE:
            # Their numbers stay counted, or all behind them would move.
            del self.numbers[:_FORGOTTEN_AT_ONCE], self.labels[:_FORGOTTEN_AT_ONCE]
            self.dropped += _FORGOTTEN_AT_ONCE
        return label

    @property
    def end(self) -> int:
        """The label behind the last record."""
        return self.labels[-1] + 1 if self.labels else _FIRST_LABEL

    def count_before(self, label: int) -> int:
        return self.dropped + bisect_left(self.labels, label)


class UpstreamPlaces:
    """Translates calls, and counts records. Thread-safe: calls are noted on a loop, and read anywhere."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._streams: dict[str, tuple[int, str]] = {}
        self._given = 0
        self._known: dict[_UpstreamShard, _KnownPlaces] = {}
        self._iterators: OrderedDict[str, tuple[_UpstreamShard, int | None]] = OrderedDict()

    def clear(self) -> None:
        """Forget what is known of records; streams keep their numbers."""
        with self._lock:
            self._known.clear()
            self._iterators.clear()

    def number_of(self, stream: str, generation: str = "") -> int:
        """The number of a stream. It has another one when it was deleted and created again."""
        with self._lock:
            number, known = self._streams.get(stream, (0, ""))
            if not number or (generation and known and generation != known):
                self._given += 1
                number = self._given
            self._streams[stream] = number, generation or known
            return number

    def translate(self, operation: str, request: Shape, response: Shape) -> tuple[Shape, Shape] | None:
        """The request and the answer of a call with iterators and sequence numbers as the engine's.

        Returns None for an answer with shard ids or sequence numbers that are not as Kinesis has them.
        """
        try:
            return self._translate(operation, request, response)
        except (KeyError, ValueError):
            return None

    def _translate(self, operation: str, request: Shape, response: Shape) -> tuple[Shape, Shape]:
        if operation == "GetShardIterator":
            return request, self._note_iterator(request, response)
        if operation == "GetRecords":
            return self._note_records(request, response)
        if operation == "PutRecord":
            return request, self._number_records(request, [response])[0]
        if operation == "PutRecords":
            records = self._number_records(request, response.get("Records", ()))
            return request, {**response, "Records": records}
        if operation == "DeleteStream":
            with self._lock:
                self._streams.pop(stream_named(request) or "", None)
        return request, response

    def translate_refused(self, operation: str, request: Shape) -> Shape:
        """The request of a call that was refused, with its iterator as the engine's."""
        if operation != "GetRecords":
            return request
        place = self._iterators.get(request.get("ShardIterator", ""))
        return {**request, "ShardIterator": _UNKNOWN if place is None else _write_token(*place)}

    def list_shards(self, stream: int, shards: Iterable[ShardView]) -> tuple[ShardState, ...]:
        """The shards of a stream, with the records that are known."""
        with self._lock:
            return tuple(
                self._describe(
                    each, self._known.get(_UpstreamShard(stream, _index_of(each.id)), _KnownPlaces())
                )
                for each in shards
            )

    def renumber(self, stream: int, index: int, reads: ShardReads) -> ShardReads:
        """What was read of a shard, with records counted from 1."""
        with self._lock:
            known = self._known.get(_UpstreamShard(stream, index), _KnownPlaces())

            def count(label: int) -> int:
                return known.count_before(label) + 1

            def renumber_run(run: Reading) -> Reading:
                return msgspec.structs.replace(run, first=count(run.first), position=count(run.position))

            return msgspec.structs.replace(
                reads,
                readings=tuple(map(renumber_run, reads.readings)),
                earlier=tuple((count(first), count(end)) for first, end in reads.earlier),
                expiries=tuple(
                    msgspec.structs.replace(each, ordinal=count(each.ordinal)) for each in reads.expiries
                ),
            )

    def _describe(self, shard: ShardView, known: _KnownPlaces) -> ShardState:
        first, end = known.dropped + 1, known.count_before(known.end) + 1
        return ShardState(shard.id, shard.parents, shard.children, shard.open, first, end, shard.created)

    def _note_iterator(self, request: Shape, response: Shape) -> Shape:
        shard = self._find_shard(stream_named(request) or "", request["ShardId"])
        with self._lock:
            known = self._known.setdefault(shard, _KnownPlaces())
            start, after = request["ShardIteratorType"], request.get("StartingSequenceNumber")
            label: int | None = None  # what AT_TIMESTAMP is, the first record that comes tells
            if start == "TRIM_HORIZON":
                label = known.labels[0] if known.dropped else 0
            elif start == "LATEST":
                label = known.end
            elif after:
                label = known.find_label(int(after)) + (start == "AFTER_SEQUENCE_NUMBER")
            token = response["ShardIterator"]
            self._keep(token, shard, label)
        return {"ShardIterator": _write_token(shard, label)}

    def _note_records(self, request: Shape, response: Shape) -> tuple[Shape, Shape]:
        place = self._iterators.get(request["ShardIterator"])
        if place is None:
            return {**request, "ShardIterator": _UNKNOWN}, {"Records": []}
        shard, label = place
        with self._lock:
            known = self._known.setdefault(shard, _KnownPlaces())
            records = response.get("Records", ())
            labels = [known.find_label(int(each["SequenceNumber"])) for each in records]
            start = labels[0] if label is None and labels else label
            reached = labels[-1] + 1 if labels else start
            begins, now = prefix(0, shard.shard, shard.stream), self._now_ms()
            event: Shape = {
                "Records": [{"SequenceNumber": write_number(begins, each, now)} for each in labels]
            }
            if following := response.get("NextShardIterator"):
                self._keep(following, shard, reached)
                event["NextShardIterator"] = _write_token(shard, reached)
        return {**request, "ShardIterator": _write_token(shard, start)}, event

    def _number_records(self, request: Shape, answers: Iterable[Shape]) -> list[Shape]:
        """What a put was answered for each record, with labels in their numbers."""
        stream = self.number_of(stream_named(request) or "")
        now = self._now_ms()
        shards: dict[str, tuple[_KnownPlaces, str]] = {}
        numbered = []
        with self._lock:
            for answer in answers:
                shard_id, number = answer.get("ShardId"), answer.get("SequenceNumber")
                if not shard_id or not number:
                    numbered.append(answer)
                    continue
                if shard_id not in shards:
                    shard = _UpstreamShard(stream, _index_of(shard_id))
                    known = self._known.setdefault(shard, _KnownPlaces())
                    shards[shard_id] = known, prefix(0, shard.shard, shard.stream)
                known, begins = shards[shard_id]
                label = known.find_label(int(number))
                numbered.append({**answer, "SequenceNumber": write_number(begins, label, now)})
        return numbered

    def _find_shard(self, stream: str, shard_id: str) -> _UpstreamShard:
        return _UpstreamShard(self.number_of(stream), _index_of(shard_id))

    def _keep(self, token: str, shard: _UpstreamShard, label: int | None) -> None:
        self._iterators[token] = shard, label
        if len(self._iterators) > _MOST_ITERATORS:
            self._iterators.popitem(last=False)

    def _now_ms(self) -> int:
        return round(self._clock.time() * 1000)


def _write_token(shard: _UpstreamShard, label: int | None) -> str:
    return _UNKNOWN if label is None else ShardIterator(*shard, label, 0).token()


def _index_of(shard_id: str) -> int:
    return int(shard_id.rpartition("-")[2])
