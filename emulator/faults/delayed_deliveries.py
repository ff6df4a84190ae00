"""Deliveries that a fault delays: hidden for a while, overtaken by others, or to be repeated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from emulator.faults.fault import Item
from emulator.priority_queue import PriorityQueue

_Record = TypeVar("_Record")

# Fractions of a rank: a repeated or overtaken record comes after the record of that rank, before the next.
_AGAIN = 0.25
_OVERTAKEN = 0.5


class Due(NamedTuple, Generic[_Record]):
    """A record that is due; ``again`` says that it is a redelivery with the same sequence number.

    ``arrived`` is when readers are told that it came, in seconds since the epoch.
    """

    record: _Record
    data: bytes
    again: bool
    arrived: float = 0.0


class DelayedDeliveries(Generic[_Record]):
    """The records of one shard that one reader has not been given yet.

    Records leave in the order of their ranks. A hidden record keeps back those behind it,
    because a shard keeps its order. A record that others must overtake waits until they
    have arrived, or until its patience ends. What a removed fault held is due at once.
    """

    def __init__(self) -> None:
        self._entries: PriorityQueue[tuple[Item, Due[_Record]]] = PriorityQueue()
        self._came = 0

    def __len__(self) -> int:
        return len(self._entries)

    def copy(self) -> DelayedDeliveries[_Record]:
        """A copy for a second reader that goes on from the same position."""
        twin: DelayedDeliveries[_Record] = DelayedDeliveries()
        twin._entries, twin._came = self._entries.copy(), self._came
        return twin

    def add(self, arrived: Iterable[tuple[Item, _Record]]) -> None:
        """Take in records in the order in which they arrived, each with the item that the faults planned."""
        for item, record in arrived:
            self._came += 1
            rank = float(self._came)
            overtaken = rank + item.overtaken_by + _OVERTAKEN if item.overtaken_by else rank
            self._entries.add(overtaken, (item, Due(record, item.data, again=False, arrived=item.arrived)))
            for distance in item.again:
                entry = (item, Due(record, item.data, again=True, arrived=item.arrived))
                # Counted from where the first delivery goes, or a copy could come before it.
                self._entries.add(overtaken + distance + _AGAIN, entry)

    def take(self, now: float, limit: int) -> list[Due[_Record]]:
        """Remove and return up to ``limit`` records that are due at ``now``, in seconds since the epoch."""
        found: list[Due[_Record]] = []
        while self._entries and len(found) < limit and self.due_at() <= now:
            found.append(self._entries.pop()[1])
        return found

    def due_at(self) -> float:
        """When the next record is due at the latest, in seconds since the epoch. There must be one."""
        rank, entry = self._entries.lowest, self._entries.first
        assert rank is not None
        assert entry is not None
        # Its rank is beyond the records that have come: those that must overtake it are still missing.
        waits = int(rank) > self._came
        item = entry[0]
        return max(item.visible_at, item.patient_until if waits else 0.0)
