"""Closing shards and opening their children, with the lineage and sequence numbers that follow from it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import msgspec

from emulator.kinesis import hash_keys, sequence_numbers
from emulator.kinesis.stream import Stream
from emulator.kinesis.stream_state import Merge, Reshard, Scale, ShardState, Split, StreamState


class ShardsDraft:
    """A draft of a stream's future shards. All changes take effect at ``now`` (ms)."""

    def __init__(self, stream: Stream, now: int) -> None:
        self._stream = stream
        self._now = now
        self._shards = {shard.index: shard for shard in stream.state.shards}
        self._next = stream.state.next_shard

    def apply(self, reshard: Reshard) -> None:
        """Apply a split, a merge or a scaling to the draft."""
        match reshard:
            case Split(shard, at):
                self.split(self._stream.shards[shard].state, int(at))
            case Merge(shard, adjacent):
                self.merge(self._stream.shards[shard].state, self._stream.shards[adjacent].state)
            case Scale(target):
                self.scale(target)

    def split(self, shard: ShardState, at: int) -> tuple[ShardState, ShardState]:
        """Close ``shard`` and open two children. The upper one starts at the hash key ``at``."""
        epoch, began = self._close(shard)
        low = self._open(int(shard.starting_hash_key), at - 1, epoch, began, parent=shard.id)
        high = self._open(at, int(shard.ending_hash_key), epoch, began, parent=shard.id)
        return low, high

    def merge(self, one: ShardState, adjacent: ShardState) -> ShardState:
        """Close both shards and open one child for the hash key range of the two."""
        ends = [self._close(one), self._close(adjacent)]
        keys = [int(key) for s in (one, adjacent) for key in (s.starting_hash_key, s.ending_hash_key)]
        epoch, began = (max(column) for column in zip(*ends, strict=True))
        return self._open(min(keys), max(keys), epoch, began, parent=one.id, adjacent_parent=adjacent.id)

    def scale(self, target: int) -> None:
        """Split and merge until ``target`` open shards of equal size are left.

        Shards that are opened and closed again on the way stay in the lineage, empty, as they do at AWS.
        """
        ranges = hash_keys.uniform(target)
        # Both lists are in the order of the hash keys and change together: a search among 10,000 shards for
        # each of 10,000 new ones would hold up everybody for a minute.
        still_open = (shard for shard in self._shards.values() if shard.closed is None)
        shards = sorted(still_open, key=lambda shard: int(shard.starting_hash_key))
        starts = [int(shard.starting_hash_key) for shard in shards]
        # Splits first: once every border is there, merges alone make the ranges.
        for start, _ in ranges[1:]:
            at = bisect_right(starts, start) - 1
            if starts[at] != start:
                shards[at : at + 1] = self.split(shards[at], start)
                starts.insert(at + 1, start)
        for start, end in ranges:
            merged, *others = shards[bisect_left(starts, start) : bisect_right(starts, end)]
            for following in others:
                merged = self.merge(merged, following)

    def state(self, **fields: Any) -> StreamState:
        """The stream's state with the drafted shards and with ``fields`` replaced."""
        shards = list(self._shards.values())
        return msgspec.structs.replace(self._stream.state, shards=shards, next_shard=self._next, **fields)

    def _open(
        self, start: int, end: int, epoch: int, began: int, *, parent: str, adjacent_parent: str | None = None
    ) -> ShardState:
        shard = ShardState(
            self._next,
            str(start),
            str(end),
            epoch=epoch,
            created=began,
            parent=parent,
            adjacent_parent=adjacent_parent,
        )
        self._shards[self._next] = shard
        self._next += 1
        return shard

    def _close(self, shard: ShardState) -> tuple[int, int]:
        """Close ``shard`` and return the earliest epoch (s) and creation time (ms) of its children."""
        # One that this draft has opened itself is not in the stream, and has no records.
        running = self._stream.shards.get(shard.id)
        horizon = self._stream.advance_horizon(self._now)
        ended = running.arrival(self._now, horizon) if running else shard.created
        following = running.records.next if running and not running.unused else 1
        prefix = sequence_numbers.prefix(shard.epoch, shard.index, self._stream.state.number)
        self._shards[shard.index] = msgspec.structs.replace(
            shard, closed=ended, ending_sequence_number=sequence_numbers.number(prefix, following, ended)
        )
        return max(ended // 1000, shard.epoch), ended
