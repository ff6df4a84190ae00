"""Reading a sharded stream whole: every shard, only after all that it descends from are drained.

Which shard may be read, how far each is and what is committed is the same for
every stream; how records are fetched is the ``ShardSource``'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from emulator.channels.channel import Delivery
from emulator.channels.checkpoints import SHARD_END, Checkpoints
from emulator.clock import Clock


@dataclass(frozen=True, slots=True)
class ShardListing:
    """A shard and the shards it came from: none, the one that was split, or the two that were merged.

    Its id sorts behind theirs.
    """

    id: str
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fetched:
    """Records of one shard in order. ``drained``: it is closed and nothing comes after these."""

    deliveries: list[Delivery]
    drained: bool


class ShardSource(Protocol):
    """Where a stream's shards are listed and their records fetched."""

    def shards(self) -> list[ShardListing]: ...

    def fetch(self, shard: str, after: str | None, limit: int) -> Fetched:
        """Up to ``limit`` records behind the sequence number ``after`` (None: from the oldest)."""


@dataclass(slots=True)
class _Progress:
    """How far one shard was read in this session, and how far it is committed."""

    parents: tuple[str, ...]
    after: str | None
    committed: str | None
    last: str | None = None
    drained: bool = False


@dataclass(slots=True)
class ShardReader:
    """One session of reading: begins behind what the checkpoints hold."""

    source: ShardSource
    checkpoints: Checkpoints
    _shards: dict[str, _Progress] = field(default_factory=dict)
    _turn: int = 0

    def read(self, limit: int) -> list[Delivery]:
        """Up to ``limit`` records, the shards taking turns; empty when none has any."""
        if not self._shards:
            self.discover()
        readable = self._readable()
        while not (found := self._read_each(readable, limit)):
            before, readable = readable, self._readable()
            if readable == before:
                break
        return found

    def read_within(self, wait: float, limit: int, clock: Clock, poll: float) -> list[Delivery]:
        """As ``read``; while there is nothing, again every ``poll`` seconds for up to ``wait`` in all."""
        deadline = clock.elapsed() + wait
        while not (found := self.read(limit)):
            left = deadline - clock.elapsed()
            if left <= 0:
                break
            clock.wait(min(poll, left))
        return found

    def _read_each(self, shards: list[str], limit: int) -> list[Delivery]:
        found: list[Delivery] = []
        self._turn += 1
        for offset in range(len(shards)):
            if len(found) >= limit:
                break
            found += self._fetch(shards[(self._turn + offset) % len(shards)], limit - len(found))
        return found

    def commit(self, delivery: Delivery) -> None:
        """Keep the position of ``delivery``; a commit behind an earlier one changes nothing."""
        shard = self._shards[delivery.shard]
        if shard.committed is None or int(delivery.sequence_number) > int(shard.committed):
            shard.committed = delivery.sequence_number
            self._keep(delivery.shard, shard)

    def committed(self, shard: str) -> str | None:
        """The position up to which a shard is committed."""
        known = self._shards.get(shard)
        return known.committed if known and known.committed else self.checkpoints.get(shard)

    def discover(self) -> None:
        """Look which shards there are now."""
        for listing in sorted(self.source.shards(), key=lambda each: each.id):
            if listing.id not in self._shards:
                self._shards[listing.id] = self._begin(listing)

    def _begin(self, listing: ShardListing) -> _Progress:
        position = self.checkpoints.get(listing.id)
        if position == SHARD_END:
            return _Progress(listing.parents, after=None, committed=None, drained=True)
        return _Progress(listing.parents, after=position, committed=position, last=position)

    def _readable(self) -> list[str]:
        """The shards with something to read whose ancestors have nothing left.

        Parents alone would not do: a shard without records ends at once, and whoever begins anew meets
        its end before those of its own parents. A parent that is no longer listed has outlived its retention.
        """
        found: list[str] = []
        ahead: set[str] = set()
        for name, shard in self._shards.items():
            waits = not ahead.isdisjoint(shard.parents)
            if waits or not shard.drained:
                ahead.add(name)
            if not waits and not shard.drained:
                found.append(name)
        return found

    def _fetch(self, name: str, limit: int) -> list[Delivery]:
        shard = self._shards[name]
        fetched = self.source.fetch(name, shard.after, limit)
        if fetched.deliveries:
            shard.after = shard.last = max((each.sequence_number for each in fetched.deliveries), key=int)
        if fetched.drained:
            shard.drained = True
            self._keep(name, shard)
            self.discover()
        return fetched.deliveries

    def _keep(self, name: str, shard: _Progress) -> None:
        if shard.drained and shard.committed == shard.last:
            self.checkpoints.put(name, SHARD_END)
        elif shard.committed is not None:
            self.checkpoints.put(name, shard.committed)
