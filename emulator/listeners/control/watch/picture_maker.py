"""Makes the picture that the watch page draws, from what the sandbox knows at the moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from emulator.clock import Clock, stopwatch
from emulator.events import Events
from emulator.kinesis import StreamView
from emulator.listeners.control.sandbox_state import read_clock
from emulator.listeners.control.watch.event_digest import EventDigest
from emulator.listeners.control.watch.lanes import lay_out_readers, lay_out_stream
from emulator.listeners.control.watch.rejected_messages import RejectedMessages
from emulator.streams.stream_catalogue import Catalogue, ListedStream
from emulator.streams.stream_service import StreamService
from rdss_sandbox.shapes.faults import Fault
from rdss_sandbox.shapes.picture import NewsLine, Picture, RunCounts, ShardReader
from rdss_sandbox.shapes.readers import ReaderList
from schemas.contract import Contract, describe_contract

MOST_STREAMS: Final = 50
_RATE_SECONDS: Final = 1.0
_RUN: Final = ("offered", "acknowledged", "delivered", "processed", "rejected")
"""What a scenario tells of each of its messages: the ends of the kinds of its events."""


@dataclass(frozen=True, slots=True)
class PictureSources:
    """What a picture is made from. ``queues`` names the streams of messages refused by the ``contract``.

    ``counts`` counts events by kind since the sandbox started.
    """

    clock: Clock
    events: Events
    catalogue: Catalogue
    streams: StreamService
    amqp: StreamService
    readers: Callable[[], ReaderList]
    faults: Callable[[], Sequence[Fault]]
    counts: Mapping[str, int]
    queues: Collection[str]
    contract: Contract


class PictureMaker:
    """Makes pictures, one at a time. It remembers how far it has read what only grows."""

    def __init__(self, sources: PictureSources) -> None:
        self._sources = sources
        meanings = {name: code.description for name, code in sources.contract.codes.items()}
        self._digest = EventDigest(sources.events, meanings)
        self._rejected = RejectedMessages(sources.catalogue, sources.queues, sources.contract, meanings)
        self._rates = _Rates()

    def make(self) -> Picture:
        """Make a picture of this moment. Raises ``KinesisError`` where an upstream does not answer."""
        sources, digest = self._sources, self._digest
        digest.read_on()
        listed = list(sources.catalogue.list_streams())
        self._rejected.read_on(listed)
        recorded = sources.amqp.streams(sources.catalogue.home)
        shown = [*((each.label, each.view) for each in listed), *((view.name, view) for view in recorded)]
        shown.sort(key=lambda stream: self._stands_aside(stream[0]))
        self._rates.keep_only(shown)
        readers = self._group_readers(listed)
        drawn = tuple(
            lay_out_stream(
                label,
                view,
                readers.get(label),
                self._rates.note(label, view),
                aside=self._stands_aside(label),
            )
            for label, view in shown[:MOST_STREAMS]
        )
        counts = [self._sources.counts.get(f"message.{name}", 0) for name in _RUN]
        return Picture(
            contract=describe_contract(sources.contract),
            clock=read_clock(sources.clock),
            streams=drawn,
            left_out_streams=len(shown) - len(drawn),
            faults=tuple(sources.faults()),
            strikes=tuple(digest.strikes.values()),
            findings=tuple(digest.findings),
            error=_choose_newest(digest.error, self._rejected.last),
            news=tuple(digest.news),
            run=RunCounts(*counts) if any(counts) else None,
            queues=tuple(label for label, _ in shown if label in sources.queues),
        )

    def _stands_aside(self, label: str) -> bool:
        return label in self._sources.queues or label in self._sources.catalogue.copies

    def _group_readers(self, listed: Iterable[ListedStream]) -> dict[str, list[ShardReader]]:
        """The readers by stream, without the streams whose readers an upstream has.

        A scenario's receiver reads beside the AWS port: events tell how far it is.
        """
        sources = self._sources
        grouped: defaultdict[str, list[ShardReader]] = defaultdict(list)
        now = sources.clock.time()
        found = sources.readers()
        for reader in found.readers:
            grouped[reader.stream] += lay_out_readers([reader], now)
        for each in listed:
            if each.label not in grouped and (found.known or self._digest.delivered):
                grouped[each.label] += self._follow_receiver(each)
        return grouped

    def _follow_receiver(self, listed: ListedStream) -> Iterable[ShardReader]:
        for shard in listed.view.shards:
            given = self._digest.delivered.get((listed.label, shard.id))
            if given is not None:
                behind = self._sources.streams.unread(listed.view.name, shard, given)
                yield ShardReader("receiver", shard.id, behind, 0, live=True)


class _Rates:
    """The records a real second of each stream, over a second at least."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Rate] = {}

    def note(self, label: str, view: StreamView) -> float:
        """Take a reading of a stream's counter of records, and return its rate."""
        put, now = sum(shard.put for shard in view.shards), stopwatch()
        key = label, view.generation
        known = self._known.setdefault(key, _Rate(now, put, 0.0))
        if now - known.at >= _RATE_SECONDS:
            grown = max(0, put - known.put)
            self._known[key] = _Rate(now, put, round(grown / (now - known.at), 1))
        return self._known[key].rate

    def keep_only(self, shown: Iterable[tuple[str, StreamView]]) -> None:
        """Forget the streams that are gone."""
        there = {(label, view.generation) for label, view in shown}
        self._known = {key: rate for key, rate in self._known.items() if key in there}


class _Rate(NamedTuple):
    at: float
    put: int
    rate: float


def _choose_newest(*lines: NewsLine | None) -> NewsLine | None:
    return max((line for line in lines if line is not None), key=lambda line: line.at, default=None)
