"""Reads every shard of a stream, each only after all its ancestors are drained.

The order of shards, the reading positions and the checkpoints are the same for
every stream. Only the ``ShardSource`` knows how records are fetched, and the
``ShardCalls`` whether shards are asked in turn or at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

from emulator.channels.channel import ChannelUnavailableError, Delivery
from emulator.channels.checkpoints import SHARD_END, Checkpoints
from emulator.channels.shard_calls import Fetched, ShardCalls
from emulator.clock import Clock


@dataclass(frozen=True, slots=True)
class ShardListing:
    """A shard and its parents: none, the one that was split, or the two that were merged.

    Its id sorts after theirs.
    """

    id: str
    parents: tuple[str, ...] = ()


class ShardSource(Protocol):
    """Lists the shards of a stream and fetches their records."""

    def shards(self) -> list[ShardListing]: ...

    def fetch(self, shard: str, after: str | None, limit: int) -> Fetched:
        """Fetch up to ``limit`` records after the sequence number ``after``; None starts at the oldest."""


@dataclass(slots=True)
class _Progress:
    """How far one shard was read in this session, and how far it was committed."""

    parents: tuple[str, ...]
    after: str | None
    committed: str | None
    last: str | None = None
    drained: bool = False


@dataclass(slots=True)
class ShardReader:
    """One session of reading, which starts after the checkpoints. ``calls`` fetch from ``source``."""

    source: ShardSource
    calls: ShardCalls
    checkpoints: Checkpoints
    _shards: dict[str, _Progress] = field(default_factory=dict)
    _turn: int = 0
    _polled: float = -math.inf
    _more: bool = False
    _waiting: bool = False
    _listed: bool = False

    def read(self, limit: int, in_hand: Collection[str] = ()) -> list[Delivery]:
        """Read up to ``limit`` records. The list is empty when there are none, or no answer has come yet.

        Shards ``in_hand`` are passed over, and so are their descendants.
        """
        if not (self._shards and self._listed):
            self.discover()
        readable = self._find_readable(in_hand)
        while not (found := self._read_each(readable, limit)):
            before, readable = readable, self._find_readable(in_hand)
            if readable == before:
                break
        return found

    def read_within(
        self, wait: float, limit: int, clock: Clock, poll: float, in_hand: Collection[str] = ()
    ) -> list[Delivery]:
        """Read as ``read``, and while there is nothing again every ``poll`` seconds, for ``wait`` in all.

        A shard that has not answered by then is waited for, and the others are asked again meanwhile.

        A call that waits also keeps ``poll`` seconds from the last read of one that got less than it may
        have: Kinesis allows five reads a second of a shard, across calls too.
        """
        deadline = clock.elapsed() + wait
        if wait > 0 and (early := self._polled + poll - clock.elapsed()) > 0:
            clock.wait(min(early, wait))
        while not (found := self.read(limit, in_hand)):
            if self._waiting:
                continue  # the answers were waited for, in real time
            left = deadline - clock.elapsed()
            if left <= 0:
                break
            clock.wait(min(poll, left))
        if wait > 0 and not self._more:
            self._polled = clock.elapsed()
        return found

    def _read_each(self, shards: list[str], limit: int) -> list[Delivery]:
        found: list[Delivery] = []
        failures: list[ChannelUnavailableError] = []
        self._turn += 1
        self._waiting = False
        # Another one first each time, or a busy shard would leave no room for the others.
        first = self._turn % max(len(shards), 1)
        turn = shards[first:] + shards[:first]
        # A round for what is left of less than half would ask many shards for few records.
        while turn and 2 * len(found) < limit:
            positions = {name: self._shards[name].after for name in turn}
            done = self.calls.ask(positions, limit - len(found))
            for name, fetched in done.fetched.items():
                self._note(name, fetched)
                found += fetched.deliveries
            failures += done.failures
            self._waiting |= done.waiting
            turn = done.left
        if not self._listed:
            try:
                self.discover()
            except ChannelUnavailableError as error:
                failures.append(error)
        # One may have failed since retention has taken it: the next read looks which there are.
        self._listed &= not failures
        self._more = bool(turn) or len(found) >= limit
        # What other shards gave is handed over: it would not come again, their places are behind it.
        if failures and not found:
            raise failures[0]
        return found

    def commit(self, delivery: Delivery) -> None:
        """Save the checkpoint of ``delivery``. A commit before an earlier one changes nothing."""
        shard = self._shards[delivery.shard]
        if shard.committed is None or int(delivery.sequence_number) > int(shard.committed):
            shard.committed = delivery.sequence_number
            self._save_checkpoint(delivery.shard, shard)

    def committed(self, shard: str) -> str | None:
        """The checkpoint of a shard."""
        known = self._shards.get(shard)
        return known.committed if known and known.committed else self.checkpoints.get(shard)

    def discover(self) -> None:
        """List the shards again, and take in new ones. Nothing is to be read of those that are gone."""
        listed = {listing.id: listing for listing in self.source.shards()}
        for name, shard in self._shards.items():
            shard.drained |= name not in listed
        # Parents come first in this order, which the search for readable shards relies on.
        for name in sorted(listed.keys() - self._shards.keys()):
            self._shards[name] = self._begin_shard(listed[name])
        self._listed = True

    def _begin_shard(self, listing: ShardListing) -> _Progress:
        position = self.checkpoints.get(listing.id)
        if position == SHARD_END:
            return _Progress(listing.parents, after=None, committed=None, drained=True)
        return _Progress(listing.parents, after=position, committed=position, last=position)

    def _find_readable(self, in_hand: Collection[str]) -> list[str]:
        """The shards that may have records, and whose ancestors are all drained and not in hand.

        Looking at parents alone is not enough: a shard without records is drained at once, so its children
        would be read before its own parents. A parent that is no longer listed is beyond its retention.
        """
        found: list[str] = []
        ahead: set[str] = set()
        for name, shard in self._shards.items():
            waits = name in in_hand or not ahead.isdisjoint(shard.parents)
            if waits or not shard.drained:
                ahead.add(name)
            if not waits and not shard.drained:
                found.append(name)
        return found

    def _note(self, name: str, fetched: Fetched) -> None:
        shard = self._shards[name]
        if fetched.deliveries:
            shard.after = shard.last = max((each.sequence_number for each in fetched.deliveries), key=int)
        if fetched.drained:
            shard.drained = True
            self._save_checkpoint(name, shard)
            # It has children. They are listed when what this round gave is in hand.
            self._listed = False

    def _save_checkpoint(self, name: str, shard: _Progress) -> None:
        if shard.drained and shard.committed == shard.last:
            self.checkpoints.put(name, SHARD_END)
        elif shard.committed is not None:
            self.checkpoints.put(name, shard.committed)
