"""What is on a tape, in figures: channels, rates over time, duplicates, bad messages, reshards."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from statistics import median_low
from typing import Any, Final

import msgspec

from extensions.tape.tape_opening import Tape
from rdss_sandbox.shapes.tape import (
    TapedChannel,
    TapedLoss,
    TapedMessage,
    TapedRead,
    TapedRefusal,
    TapeEntry,
    TapeMark,
)
from schemas.contract import Contract, Judge

_SLICES: Final = 60
_HOUR: Final = 3600.0
_MOST_HOURS: Final = 3
_MOST_SAMPLES: Final = 100_000
"""Of so many sizes and latencies the median is that of all; of more, of the first."""


class Spread(msgspec.Struct, frozen=True):
    """The smallest, the middle and the largest of some figures."""

    least: float
    median: float
    most: float


class TapedSequences(msgspec.Struct, frozen=True):
    """Messages in parts: how many have all of them on the tape, and how many lack some."""

    complete: int
    incomplete: int


class TapedHour(msgspec.Struct, frozen=True):
    """An hour from ``start`` on, with its calls and their mean ``latency`` in seconds."""

    start: float
    calls: int
    latency: float


class TapedReshard(msgspec.Struct, frozen=True):
    """A change of a stream's open shards."""

    at: float
    before: tuple[str, ...]
    after: tuple[str, ...]


class ChannelSummary(msgspec.Struct, frozen=True):
    """One channel. Sizes are in bytes, latencies in seconds; ``peak`` is the most messages in one second.

    ``duplicates`` are messages that came before, by their identity. ``invalid`` counts the bad messages by
    code, None where no body was there to judge, or nothing to judge with. ``rates`` has the messages of each
    of equal parts of the tape's time.
    """

    name: str
    kind: str
    messages: int
    bytes: int
    sizes: Spread | None
    latencies: Spread | None
    peak: int
    keys: int
    shards: int
    duplicates: int
    sequences: TapedSequences
    invalid: dict[str, int] | None
    reads: int
    refusals: dict[str, int]
    reshards: tuple[TapedReshard, ...]
    rates: tuple[int, ...]


class TapeSummary(msgspec.Struct, frozen=True):
    """A whole tape. Times are in seconds since the epoch; ``lost`` entries were not recorded.

    ``slowest`` are the hours in which the upstream took longest. ``troubles`` says what could not be read.
    """

    file: str
    bytes: int
    mark: TapeMark
    first: float
    last: float
    entries: int
    lost: int
    channels: tuple[ChannelSummary, ...]
    slowest: tuple[TapedHour, ...]
    troubles: tuple[str, ...]


def summarise(tape: Tape, contract: Contract, judge: Judge | None) -> TapeSummary:
    """Read a whole tape once. Without a ``judge`` nothing is said of bad messages."""
    found = _Findings(tape, contract, judge)
    for entry in tape.read():
        found.add(entry)
    return TapeSummary(
        str(tape.path),
        tape.path.stat().st_size,
        tape.mark,
        tape.first,
        tape.last,
        tape.entries,
        found.lost,
        tuple(each.summarise() for _, each in sorted(found.channels.items())),
        found.list_slowest(),
        tuple(tape.troubles),
    )


class _Findings:
    """What is known of the entries so far."""

    def __init__(self, tape: Tape, contract: Contract, judge: Judge | None) -> None:
        slice_of = _slices(tape.first, tape.last)
        self.channels: defaultdict[str, _Channel] = defaultdict()
        self.channels.default_factory = lambda: _Channel(contract, judge, slice_of)
        self.lost = 0
        self._answered = 0.0
        self._hours: defaultdict[int, list[float]] = defaultdict(lambda: [0, 0.0])

    def add(self, entry: TapeEntry) -> None:
        if isinstance(entry, TapedLoss):
            self.lost += entry.entries
            return
        channel = self.channels[entry.channel]
        channel.name = entry.channel
        match entry:
            case TapedMessage():
                channel.add_message(entry)
            case TapedRead():
                channel.reads += 1
            case TapedRefusal():
                channel.refusals[entry.code] += max(entry.records, 1)
            case TapedChannel():
                channel.add_shards(entry)
        # The messages of one call have one latency.
        if not isinstance(entry, TapedChannel) and entry.latency and entry.at != self._answered:
            self._answered = entry.at
            hour = self._hours[int(entry.at // _HOUR)]
            hour[0] += 1
            hour[1] += entry.latency

    def list_slowest(self) -> tuple[TapedHour, ...]:
        hours = [
            TapedHour(number * _HOUR, int(calls), latency / calls)
            for number, (calls, latency) in self._hours.items()
        ]
        return tuple(sorted(hours, key=lambda hour: -hour.latency)[:_MOST_HOURS])


class _Channel:
    """What is known of one channel so far."""

    def __init__(self, contract: Contract, judge: Judge | None, slice_of: Callable[[float], int]) -> None:
        self.name = ""
        self.reads = 0
        self.refusals: Counter[str] = Counter()
        self._contract = contract
        self._judge = judge
        self._slice_of = slice_of
        self._kind = ""
        self._messages = self._bytes = self._duplicates = self._judged = 0
        self._sizes: list[int] = []
        self._latencies: list[float] = []
        self._seconds: Counter[int] = Counter()
        self._rates = [0] * _SLICES
        self._keys: set[int] = set()
        self._shards: set[str] = set()
        self._known: set[int] = set()
        self._parts: dict[str, tuple[int, set[int]]] = {}
        self._invalid: Counter[str] = Counter()
        self._open: tuple[str, ...] | None = None
        self._reshards: list[TapedReshard] = []

    def add_shards(self, channel: TapedChannel) -> None:
        self._kind = channel.kind
        opened = tuple(each.id for each in channel.shards)
        self._shards.update(opened)
        if self._open is not None and self._open != opened:
            self._reshards.append(TapedReshard(channel.at, self._open, opened))
        self._open = opened

    def add_message(self, message: TapedMessage) -> None:
        self._messages += 1
        self._bytes += message.size
        if len(self._sizes) < _MOST_SAMPLES:
            self._sizes.append(message.size)
        if message.latency and len(self._latencies) < _MOST_SAMPLES:
            self._latencies.append(message.latency)
        self._seconds[int(message.at)] += 1
        self._rates[self._slice_of(message.at)] += 1
        self._keys.add(hash(message.key))
        if message.shard:
            self._shards.add(message.shard)
        identity = self._note_part(message)
        self._duplicates += identity in self._known
        self._known.add(identity)
        if self._judge is not None and message.body is not None:
            self._judged += 1
            if (code := self._judge(message.body).code) is not None:
                self._invalid[code] += 1

    def summarise(self) -> ChannelSummary:
        complete = sum(len(positions) >= total for total, positions in self._parts.values())
        return ChannelSummary(
            self.name,
            self._kind or ("kinesis" if self._shards else "rabbitmq"),
            self._messages,
            self._bytes,
            _spread(self._sizes),
            _spread(self._latencies),
            max(self._seconds.values(), default=0),
            len(self._keys),
            len(self._shards),
            self._duplicates,
            TapedSequences(complete, len(self._parts) - complete),
            dict(self._invalid.most_common()) if self._judged else None,
            self.reads,
            dict(self.refusals.most_common()),
            tuple(self._reshards),
            tuple(self._rates),
        )

    def _note_part(self, message: TapedMessage) -> int:
        """Note which part of a sequence a message is; return what tells it from others."""
        if message.body is None:
            part = _read_part(message.header)
            known = message.header.get("id")
        else:
            peek = self._contract.peek(message.body, message.key)
            found = peek.part
            part = (found.sequence, found.position, found.total) if found is not None else None
            known = self._contract.identity(peek)
        if part is not None and part[2] > 1:
            self._parts.setdefault(part[0], (part[2], set()))[1].add(part[1])
        # Without an id, a message is known by its bytes; without these, by its place.
        return (
            hash((known, part))
            if known
            else hash(message.body or (message.shard, message.number, message.at))
        )


def _read_part(header: dict[str, Any]) -> tuple[str, int, int] | None:
    sequence, position, total = (header.get(name) for name in ("sequence", "position", "total"))
    if isinstance(sequence, str) and isinstance(position, int) and isinstance(total, int):
        return sequence, position, total
    return None


def _slices(first: float, last: float) -> Callable[[float], int]:
    """What gives for a time the number of its part of the tape's time."""
    width = (last - first) / _SLICES or 1.0
    return lambda at: min(max(int((at - first) / width), 0), _SLICES - 1)


def _spread(figures: Iterable[float]) -> Spread | None:
    found = list(figures)
    return Spread(min(found), median_low(found), max(found)) if found else None
