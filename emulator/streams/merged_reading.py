"""Reads many shards a little at a time, and merges their records in the order of arrival."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Protocol

MOST_RECORDS = 500
MOST_BYTES = 2_000_000
"""Limits of one read of one shard."""


@dataclass(frozen=True, slots=True)
class ShardKey:
    """A shard to read. ``generation`` is the one of its stream, see ``StreamView``."""

    stream: str
    shard: str
    generation: str


class IndexedRecord(Protocol):
    """A stored record. ``arrived`` is in seconds since the epoch."""

    @property
    def sequence_number(self) -> str: ...
    @property
    def partition_key(self) -> str | None: ...
    @property
    def data(self) -> bytes: ...
    @property
    def arrived(self) -> float: ...


class IndexedStreams(Protocol):
    """The shards and records that an index reads."""

    def shards(self) -> Iterable[ShardKey]: ...
    def read(self, shard: ShardKey, after: str | None, limit: int) -> list[IndexedRecord]: ...
    def at(self, shard: ShardKey, sequence_number: str) -> bytes | None: ...
    def at_each(self, places: Iterable[tuple[ShardKey, str]]) -> Iterator[bytes | None]: ...


@dataclass(slots=True)
class ShardCursor:
    """How far a shard was read, and the records that wait for older ones of other shards."""

    shard: ShardKey
    no: int
    read_up_to: str | None
    waiting: deque[tuple[float, IndexedRecord]] = field(default_factory=deque)
    more: bool = False
    last_time: float = 0.0
    limit: int = 32

    def fetch(self, streams: IndexedStreams) -> None:
        """Read the next records. Their times are made non-decreasing, so that a merge keeps their order."""
        records = streams.read(self.shard, self.read_up_to, self.limit)
        self.more = bool(records)
        for record in records:
            self.last_time = max(self.last_time, record.arrived)
            self.waiting.append((self.last_time, record))
        if records:
            mean = sum(len(record.data) for record in records) // len(records)
            self.limit = max(1, min(MOST_RECORDS, MOST_BYTES // max(mean, 1)))

    def list_until(self, horizon: float) -> Iterator[tuple[float, IndexedRecord, ShardCursor]]:
        for time, record in self.waiting:
            if time > horizon:
                break
            yield time, record, self

    def drop_until(self, horizon: float) -> None:
        """Drop the records that arrived up to ``horizon``, and move ``read_up_to``."""
        while self.waiting and self.waiting[0][0] <= horizon:
            self.read_up_to = self.waiting.popleft()[1].sequence_number


def merge_by_arrival(
    cursors: Sequence[ShardCursor], streams: IndexedStreams
) -> list[tuple[ShardCursor, IndexedRecord]]:
    """Read the next records of all shards, in the order of arrival. The list is empty when there are none."""
    for cursor in cursors:
        if not cursor.waiting:
            cursor.fetch(streams)
    # A shard that may have more can still yield records older than those beyond its last one.
    horizon = min((cursor.last_time for cursor in cursors if cursor.more), default=float("inf"))
    merged = heapq.merge(*(cursor.list_until(horizon) for cursor in cursors), key=itemgetter(0))
    found = [(cursor, record) for _, record, cursor in merged]
    for cursor in cursors:
        cursor.drop_until(horizon)
    return found
