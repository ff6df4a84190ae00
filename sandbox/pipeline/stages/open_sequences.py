"""Which sequences wait for parts, so that no batch reads again what earlier ones brought.

The driver keeps where the parts of open sequences are, and which sequences have finished, for twice the time
that a sequence waits. It reads both from the tables, all of it when a run begins and then each batch once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from sandbox.pipeline.storage.table_log import File
from sandbox.pipeline.storage.table_store import Tables

Key: TypeAlias = tuple[str, str]
"""A stream, and a sequence in it."""
_PART = ["stream", "sequence", "position", "total", "arrived", "shard", "sequence_number"]


class Acting(NamedTuple):
    """A sequence that is decided: its ``status``, and the batches that have parts of it."""

    status: str
    batches: frozenset[int]


class Decision(NamedTuple):
    """What a batch decides: the sequences by key, and the first arrival of the oldest that stays open."""

    acting: dict[Key, Acting]
    oldest: float | None


@dataclass
class _Waiting:
    """An open sequence. Parts count that say the same ``total`` as the ``first``, in order of arrival."""

    first: tuple[datetime, str, int]
    total: int
    arrived: dict[tuple[int, int], datetime] = field(default_factory=dict)
    """The latest arrival of a part, by its position and what it says of the total."""
    batches: set[int] = field(default_factory=set)

    def add(self, row: dict[str, Any]) -> None:
        order, place = _order(row), (row["position"], row["total"])
        if order < self.first:
            self.first, self.total = order, row["total"]
        self.arrived[place] = max(row["arrived"], self.arrived.get(place, row["arrived"]))
        self.batches.add(row["batch"])

    @property
    def complete(self) -> bool:
        return sum(total == self.total for _, total in self.arrived) >= self.total

    @property
    def last(self) -> datetime:
        """The last arrival of a part that counts."""
        return max(at for (_, total), at in self.arrived.items() if total == self.total)


@dataclass
class OpenSequences:
    """The open sequences of some tables; one waits ``limit`` seconds of arrival time for its next part."""

    tables: Tables
    limit: float
    _open: dict[Key, _Waiting] = field(default_factory=dict)
    _finished: dict[Key, datetime] = field(default_factory=dict)
    """The sequences that are decided, with the time at which this was read."""
    _loaded: int | None = None

    def decide(self, new: Sequence[File], batch: int, now: datetime) -> Decision:
        """Decide what is complete or late ``now``, with the ``new`` files of parts of a batch.

        Nothing is kept of a batch before it is committed, so that it can be tried again.
        """
        self._load(now)
        touched: dict[Key, _Waiting] = {}
        for row in self._read(new, _PART):
            key = row["stream"], row["sequence"]
            if key not in self._finished:
                if key not in touched and key in self._open:
                    touched[key] = deepcopy(self._open[key])
                _add(touched, key, row | {"batch": batch})
        acting: dict[Key, Acting] = {}
        oldest = list[datetime]()
        for key, waiting in (self._open | touched).items():
            late = (now - waiting.last).total_seconds() > self.limit
            if (complete := key in touched and waiting.complete) or late:
                acting[key] = Acting("joined" if complete else "overdue", frozenset(waiting.batches))
            else:
                oldest.append(waiting.first[0])
        return Decision(acting, min(oldest).timestamp() if oldest else None)

    def _load(self, now: datetime) -> None:
        """Read the batches that were committed since the last call."""
        last, tables = self.tables.last_batch, self.tables
        if self._loaded is None:
            oldest = tables.oldest_open
            window = min(now.timestamp() - 2 * self.limit, now.timestamp() if oldest is None else oldest)
            finished = tables.files("sequences", since=window)
            parts = [] if oldest is None else tables.files("parts", since=oldest)
        else:
            finished = tables.files("sequences", after=self._loaded)
            parts = tables.files("parts", after=self._loaded)
        loaded = -1 if self._loaded is None else self._loaded
        # A file that was compacted has rows of batches that are known already.
        for row in self._read(finished, ["stream", "sequence", "batch"]):
            if row["batch"] > loaded:
                key = row["stream"], row["sequence"]
                self._finished[key] = now
                self._open.pop(key, None)
        for row in self._read(parts, [*_PART, "batch"]):
            key = row["stream"], row["sequence"]
            if row["batch"] > loaded and key not in self._finished:
                _add(self._open, key, row)
        self._loaded = last
        self._forget(now)

    def _forget(self, now: datetime) -> None:
        """Forget what finished long ago."""
        since = now - timedelta(seconds=2 * self.limit)
        self._finished = {key: at for key, at in self._finished.items() if at >= since}

    def _read(self, files: Sequence[File], columns: list[str]) -> Iterator[dict[str, Any]]:
        from pyarrow import parquet

        place = self.tables.place
        for file in files:
            with parquet.ParquetFile(place.path(file.path), filesystem=place.filesystem) as stored:
                yield from stored.read(columns=columns).to_pylist()


def _order(row: dict[str, Any]) -> tuple[datetime, str, int]:
    """Where a part stands among those of its sequence, in order of arrival."""
    return row["arrived"], row["shard"], int(row["sequence_number"])


def _add(waiting: dict[Key, _Waiting], key: Key, row: dict[str, Any]) -> None:
    if key not in waiting:
        waiting[key] = _Waiting(_order(row), row["total"])
    waiting[key].add(row)
