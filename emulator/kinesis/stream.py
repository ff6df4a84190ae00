"""A stream while the engine runs: its state, its shards with their records, and the shard of each key."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Protocol

from emulator.journal import Block, Segments
from emulator.kinesis import sequence_numbers, shard_ids
from emulator.kinesis.errors import shard_not_found, stream_not_found
from emulator.kinesis.stream_state import ShardState, StreamState
from rdss_sandbox.ranges import Range, close_gaps, merge, subtract

try:
    from _md5 import md5  # type: ignore[import-not-found]  # a third of the cost of OpenSSL's for short keys
except ImportError:
    from hashlib import md5

_HOUR_MS = 3_600_000


class Shard:
    """A shard: its state and its records.

    A shard that never was written or read is ``unused``. Its ``records`` are opened when they are first
    asked for, because a stream may have 10,000 such shards, and what is done to each of them holds up others.
    ``read`` are the records that somebody has read; None while no reader has begun on the shard since the
    engine started.
    """

    def __init__(self, state: ShardState, stream_number: int, open_records: Callable[[], Segments]) -> None:
        self.state = state
        self._open_records = open_records
        self.id = state.id
        self.prefix = sequence_numbers.prefix(state.epoch, state.index, stream_number)
        self.read: ReadRanges | None = None

    @cached_property
    def records(self) -> Segments:
        return self._open_records()

    @property
    def unused(self) -> bool:
        return "records" not in vars(self)

    @property
    def is_open(self) -> bool:
        return self.state.closed is None

    def begin_reading(self, kind: str, ordinal: int) -> None:
        """Note that a reader begins at the record ``ordinal``, with a starting position of this type."""
        if self.read is None:
            self.read = ReadRanges()
        self.read.begin(kind, ordinal)

    def note_read(self, start: int, end: int) -> None:
        """Note that a reader was given the records from ``start`` to before ``end``."""
        if self.read is None:
            self.read = ReadRanges()
        self.read.add(start, end)

    def was_open(self, at: int) -> bool:
        """Whether the shard was open at ``at`` ms since the epoch."""
        return self.state.created <= at and (self.state.closed is None or self.state.closed >= at)

    def arrival(self, now: int, horizon: int) -> int:
        """The arrival time (ms) of a record that is put at ``now`` (ms).

        It is never before the last record's, the shard's creation, or the trim ``horizon``. The sandbox's
        clock may be set back behind the horizon, and a record with that time would be trimmed at once.
        """
        last = 0 if self.unused else self.records.last_arrival
        latest = max(now, horizon, last, self.state.created)
        # A sequence number has 13 digits for it, and no sign.
        return min(max(0, latest), sequence_numbers.LAST_MILLIS)

    def starting_sequence_number(self) -> str:
        return sequence_numbers.number(self.prefix, 0, self.state.created)

    def describe(self) -> dict[str, Any]:
        """The shard in botocore's shape."""
        numbers = {"StartingSequenceNumber": self.starting_sequence_number()}
        if self.state.ending_sequence_number is not None:
            numbers["EndingSequenceNumber"] = self.state.ending_sequence_number
        shape: dict[str, Any] = {"ShardId": self.id}
        if self.state.parent is not None:
            shape["ParentShardId"] = self.state.parent
        if self.state.adjacent_parent is not None:
            shape["AdjacentParentShardId"] = self.state.adjacent_parent
        return shape | {"HashKeyRange": self.hash_key_range(), "SequenceNumberRange": numbers}

    def hash_key_range(self) -> dict[str, str]:
        return {"StartingHashKey": self.state.starting_hash_key, "EndingHashKey": self.state.ending_hash_key}


class Keyed(Protocol):
    """The fields of an entry that decide which shard it goes to."""

    PartitionKey: str | None
    ExplicitHashKey: str | None


Routed = dict[Shard, range | list[int]]


class Stream:
    """A stream with its shards in the order of their indexes.

    ``directory`` holds the records of a ``stored`` stream, and nothing yet of another.
    """

    def __init__(
        self,
        state: StreamState,
        directory: Path | None,
        segment_bytes: int,
        *,
        fsync: bool = False,
        stored: bool = True,
    ) -> None:
        self.directory = directory
        self._segment_bytes = segment_bytes
        self._fsync = fsync
        self.shards: dict[str, Shard] = {}
        self.open_shards: list[Shard] = []
        self._starts: list[bytes] = []
        self._turn = -1
        self._take(state, stored=stored)

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def account(self) -> str:
        return self.state.account

    @property
    def arn(self) -> str:
        return self.state.scope.stream_arn(self.state.name)

    def take(self, state: StreamState) -> None:
        """Replace the state. Records of shards that are no longer in it are deleted."""
        self._take(state, stored=False)

    def _take(self, state: StreamState, *, stored: bool) -> None:
        self.state = state
        kept = {shard.id for shard in state.shards}
        for gone in self.shards.keys() - kept:
            shard = self.shards.pop(gone)
            if not shard.unused:
                shard.records.delete()
        for each in state.shards:
            if (known := self.shards.get(each.id)) is not None:
                known.state = each
            else:
                open_records = partial(self._open_records, each.index, stored=stored)
                shard = Shard(each, state.number, open_records)
                self.shards[shard.id] = shard
                if stored:
                    # Now, and not with the first use: a start tells what is damaged.
                    _ = shard.records
        self._children = _by_parent(self.shards.values())
        self.open_shards = sorted(
            (shard for shard in self.shards.values() if shard.is_open),
            key=lambda shard: int(shard.state.starting_hash_key),
        )
        self._starts = [_hash_bytes(shard.state.starting_hash_key) for shard in self.open_shards]

    @property
    def encryption_type(self) -> dict[str, str]:
        """What an answer says about the stream's encryption: nothing when there is none."""
        return {} if self.state.encryption == "NONE" else {"EncryptionType": self.state.encryption}

    def status(self, now: float) -> str:
        """CREATING, UPDATING, DELETING or ACTIVE at ``now`` (seconds since the epoch)."""
        return self.state.busy if now < self.state.busy_until else "ACTIVE"

    def shard(self, shard_id: str) -> Shard:
        """The shard with this id in any spelling that AWS takes. Raises ResourceNotFoundException."""
        found = self.find_shard(shard_id)
        if found is None:
            raise shard_not_found(shard_ids.whole(shard_id) or shard_id, self.name, self.account)
        return found

    def find_shard(self, shard_id: str) -> Shard | None:
        """The shard with this id in any spelling that AWS takes; None when there is none."""
        return self.shards.get(shard_id) or self.shards.get(shard_ids.whole(shard_id) or "")

    def require_created(self, created: float | None) -> None:
        """Raise ResourceNotFoundException when the stream was not created in that second."""
        if created is not None and int(created) != int(self.state.created):
            raise stream_not_found(self.name, self.account)

    def route(self, entries: Sequence[Keyed]) -> Routed:
        """Assign entries, by index, to the open shards.

        An entry goes to the shard that has its ExplicitHashKey, or else the MD5 of its PartitionKey, in its
        hash key range. Entries without either go to the shards in turn, and so do all entries of a stream
        whose distribution is AUTO.
        """
        # The only shard has every hash key, so none need be computed.
        if len(self.open_shards) == 1:
            return {self.open_shards[0]: range(len(entries))}
        columns: list[list[int]] = [[] for _ in self.open_shards]
        in_turn = self.state.distribution == "AUTO"
        for i, entry in enumerate(entries):
            if entry.ExplicitHashKey is not None and not in_turn:
                at = bisect_right(self._starts, _hash_bytes(entry.ExplicitHashKey)) - 1
            elif entry.PartitionKey is not None and not in_turn:
                key = md5(entry.PartitionKey.encode()).digest()  # noqa: S324 - it is what Kinesis hashes with
                at = bisect_right(self._starts, key) - 1
            else:
                self._turn = at = (self._turn + 1) % len(columns)
            columns[at].append(i)
        return {shard: column for shard, column in zip(self.open_shards, columns, strict=True) if column}

    def children(self, shard: Shard) -> list[Shard]:
        return self._children.get(shard.id, [])

    def advance_horizon(self, now: int) -> int:
        """Advance the trim horizon to what it is at ``now``, and return it. Both are ms since the epoch.

        Records that arrived before it are gone. It never moves back, even if retention grows or the clock is
        set back: records that a client saw expire do not come back.
        """
        cutoff = max(self.state.trimmed, now - self.state.retention_hours * _HOUR_MS)
        self.state.trimmed = cutoff
        return cutoff

    def put_back(self, index: int, blocks: Sequence[Block]) -> None:
        """Give the shard with this index copied records; it has none yet. Raises OSError."""
        directory = None if self.directory is None else self.directory / f"{index:012d}"
        shard = self.shards[shard_ids.of_number(index)]
        shard.records = Segments.put_back(
            directory, blocks, segment_bytes=self._segment_bytes, fsync=self._fsync, leap=self.state.leap
        )

    def close(self) -> None:
        for shard in self.shards.values():
            if not shard.unused:
                shard.records.close()

    def _open_records(self, index: int, *, stored: bool) -> Segments:
        directory = None if self.directory is None else self.directory / f"{index:012d}"
        return Segments(
            directory,
            segment_bytes=self._segment_bytes,
            fsync=self._fsync,
            new=not stored,
            leap=self.state.leap,
        )


def _by_parent(shards: Iterable[Shard]) -> dict[str, list[Shard]]:
    found: dict[str, list[Shard]] = {}
    for shard in shards:
        for parent in (shard.state.parent, shard.state.adjacent_parent):
            if parent is not None:
                found.setdefault(parent, []).append(shard)
    return found


def _hash_bytes(hash_key: str) -> bytes:
    return int(hash_key).to_bytes(16, "big")


_MOST_RANGES: Final = 64
_CHECKPOINTED: Final = frozenset({"AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "AT_TIMESTAMP"})


class ReadRanges:
    """The records that were read, in ascending, separate ranges (from, to before).

    Where there are more ranges than are kept, the smallest gap between two of them counts as read.
    """

    def __init__(self) -> None:
        self._ranges: tuple[Range, ...] = ()

    def begin(self, kind: str, ordinal: int) -> None:
        """Note a reader that begins at a record, with a starting position of this type.

        One that goes on from a checkpoint, or chose a time, wants nothing of what is before it: that was read
        before this process began, or is not asked for. One that begins at LATEST passes over records that
        stay unread.
        """
        if kind in _CHECKPOINTED:
            self.add(1, ordinal)

    def add(self, start: int, end: int) -> None:
        """Note that the records from ``start`` to before ``end`` were read."""
        ranges = self._ranges
        # The usual case: a reader goes on where the last read ended.
        if ranges and ranges[-1][0] <= start <= ranges[-1][1]:
            if end > ranges[-1][1]:
                self._ranges = (*ranges[:-1], (ranges[-1][0], end))
        elif start < end:
            self._ranges = close_gaps(merge(*ranges, (start, end)), _MOST_RANGES)

    def list_unread(self, first: int, end: int) -> list[Range]:
        """List the ranges of records from ``first`` to before ``end`` that nobody has read."""
        return list(subtract([(first, end)], self._ranges))
