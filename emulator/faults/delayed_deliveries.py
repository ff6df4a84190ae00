"""Deliveries that wait for their turn: hidden for a while, overtaken by others, or to come once more."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from emulator.faults.fault import Item

_Record = TypeVar("_Record")

_AGAIN = 0.25
_OVERTAKEN = 0.5


class _Entry(NamedTuple):
    rank: float
    order: int
    item: Item
    again: bool


class Due(NamedTuple, Generic[_Record]):
    """A record whose turn it is; ``again`` when it was delivered before with the same sequence number."""

    record: _Record
    data: bytes
    again: bool


class DelayedDeliveries(Generic[_Record]):
    """What one reader of one shard was not given yet.

    Records leave in the order of their ranks, and a hidden one keeps back those
    behind it, as a shard's order demands. One that others shall overtake waits
    until they came, or until its patience ends. What a fault held that is removed is due at once.
    """

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._held: dict[int, tuple[_Record, bytes]] = {}
        self._came = 0
        self._order = 0

    def __len__(self) -> int:
        return len(self._entries)

    def copy(self) -> DelayedDeliveries[_Record]:
        """The same deliveries for a reader that may go another way from here."""
        twin: DelayedDeliveries[_Record] = DelayedDeliveries()
        twin._entries, twin._held = list(self._entries), dict(self._held)
        twin._came, twin._order = self._came, self._order
        return twin

    def add(self, arrived: Iterable[tuple[Item, _Record]]) -> None:
        """Records in the order they came, with what the faults made of each."""
        for item, record in arrived:
            self._came += 1
            rank = float(self._came)
            overtaken = rank + item.overtaken_by + _OVERTAKEN if item.overtaken_by else rank
            self._push(record, item, overtaken, again=False)
            for distance in item.again:
                self._push(record, item, overtaken + distance + _AGAIN, again=True)

    def take(self, now: float, limit: int) -> list[Due[_Record]]:
        """Up to ``limit`` records whose turn it is at ``now``, seconds since the epoch."""
        found: list[Due[_Record]] = []
        while self._entries and len(found) < limit:
            entry = self._entries[0]
            if self.due_at() > now:
                break
            heapq.heappop(self._entries)
            record, data = self._held.pop(entry.order)
            found.append(Due(record, data, entry.again))
        return found

    def due_at(self) -> float:
        """When the next is due at the latest, seconds since the epoch; ask only when there is one."""
        entry = self._entries[0]
        waits = int(entry.rank) > self._came
        return max(entry.item.visible_at, entry.item.patient_until if waits else 0.0)

    def _push(self, record: _Record, item: Item, rank: float, *, again: bool) -> None:
        self._order += 1
        heapq.heappush(self._entries, _Entry(rank, self._order, item, again))
        self._held[self._order] = (record, item.data)
