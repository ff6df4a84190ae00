"""ShardCursor many shards a little at a time, their records in the order in which they arrived."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Protocol

MOST_RECORDS = 500
MOST_BYTES = 2_000_000
"""Of one shard at a time."""


@dataclass(frozen=True, slots=True)
class ShardKey:
    """A shard to read; ``generation`` tells a stream made again under the same name from the one before."""

    stream: str
    shard: str
    generation: str


class Record(Protocol):
    """A record as a stream keeps it; ``arrived`` in seconds since the epoch."""

    @property
    def sequence_number(self) -> str: ...
    @property
    def partition_key(self) -> str | None: ...
    @property
    def data(self) -> bytes: ...
    @property
    def arrived(self) -> float: ...


class Streams(Protocol):
    """Where the index reads from."""

    def shards(self) -> Iterable[ShardKey]: ...
    def read(self, shard: ShardKey, after: str | None, limit: int) -> list[Record]: ...
    def at(self, shard: ShardKey, sequence_number: str) -> bytes | None: ...


@dataclass(slots=True)
class ShardCursor:
    """How far a shard is indexed, and what was read of it but waits for older messages of other shards."""

    shard: ShardKey
    no: int
    read_up_to: str | None
    waiting: deque[tuple[float, Record]] = field(default_factory=deque)
    more: bool = False
    last_time: float = 0.0
    limit: int = 32

    def fetch(self, streams: Streams) -> None:
        """Read the next records; times are made never to decrease, so that a merge keeps the order."""
        records = streams.read(self.shard, self.read_up_to, self.limit)
        self.more = bool(records)
        for record in records:
            self.last_time = max(self.last_time, record.arrived)
            self.waiting.append((self.last_time, record))
        if records:
            mean = sum(len(record.data) for record in records) // len(records)
            self.limit = max(1, min(MOST_RECORDS, MOST_BYTES // max(mean, 1)))

    def up_to(self, horizon: float) -> Iterator[tuple[float, Record, ShardCursor]]:
        for time, record in self.waiting:
            if time > horizon:
                break
            yield time, record, self

    def take(self, horizon: float) -> None:
        """Be done with what arrived up to ``horizon``."""
        while self.waiting and self.waiting[0][0] <= horizon:
            self.read_up_to = self.waiting.popleft()[1].sequence_number


def merge_by_arrival(readings: Sequence[ShardCursor], streams: Streams) -> list[tuple[ShardCursor, Record]]:
    """The next records of all shards by the time of their arrival; empty when there is nothing new."""
    for reading in readings:
        if not reading.waiting:
            reading.fetch(streams)
    # Beyond the last record read of a shard that may have more, older ones may still come.
    horizon = min((reading.last_time for reading in readings if reading.more), default=float("inf"))
    merged = heapq.merge(*(reading.up_to(horizon) for reading in readings), key=itemgetter(0))
    found = [(reading, record) for _, record, reading in merged]
    for reading in readings:
        reading.take(horizon)
    return found
