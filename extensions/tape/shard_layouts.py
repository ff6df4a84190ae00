"""Which shards of a stream were open when, as far as its list of shards and its records tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rdss_sandbox.shapes.tape import TapedChannel, TapedShard


class ShardLayouts:
    """Begins with the oldest shards. One that a record is in was open by then, and its parents were not.

    Kinesis lists shards without the times at which they were made.
    """

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._listed: Mapping[str, Any] = {}
        self._open: set[str] | None = None
        self._told: set[str] | None = None

    def list(self, shards: Mapping[str, Any]) -> None:
        """Take the shards as ListShards gives them, by their ids."""
        self._listed = shards
        if self._open is None:
            self._open = {shard for shard in shards if not self._parents(shard)}

    def note(self, shard: str, at: float) -> TapedChannel | None:
        """Note that a record came to a shard; return the open ones, where they are others than before."""
        self._enter(shard)
        return self._tell(at)

    def settle(self, at: float) -> TapedChannel | None:
        """Note that all records are read, and so the shards are as they are listed."""
        self._open = {
            shard
            for shard, each in self._listed.items()
            if "EndingSequenceNumber" not in each["SequenceNumberRange"]
        }
        return self._tell(at)

    def _enter(self, shard: str) -> None:
        if self._open is None or shard in self._open or shard not in self._listed:
            return
        parents = self._parents(shard)
        for parent in parents:
            self._enter(parent)
        self._open -= parents
        self._open |= {shard, *(each for each in self._listed if self._parents(each) & parents)}

    def _parents(self, shard: str) -> set[str]:
        """The parents that are listed: others are older than the retention of the stream."""
        named = (self._listed[shard].get(name) for name in ("ParentShardId", "AdjacentParentShardId"))
        return {each for each in named if each in self._listed}

    def _tell(self, at: float) -> TapedChannel | None:
        if self._open is None or self._open == self._told:
            return None
        self._told = set(self._open)
        ranges = ((shard, self._listed[shard]["HashKeyRange"]) for shard in sorted(self._told))
        shards = tuple(
            TapedShard(shard, each["StartingHashKey"], each["EndingHashKey"]) for shard, each in ranges
        )
        return TapedChannel(at, self._stream, "kinesis", shards)
