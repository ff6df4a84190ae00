"""Records that a fault holds back from a reader, behind shard iterators of the fault engine's own."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final

from emulator.clock import Clock
from emulator.faults.held_deliveries import HeldDeliveries
from emulator.kinesis.errors import KinesisError
from emulator.rng import new_uuid

LIFETIME: Final = 300.0
"""Seconds for which an iterator is valid, as Kinesis's are."""
_MARK: Final = "fault-stage:"
_MOST: Final = 10_000

Record = dict[str, Any]


@dataclass(slots=True)
class HeldRead:
    """A reader's place in a shard: the records held back there, and where the backend continues.

    ``following`` is the backend's next iterator. It is None at the end of a closed shard, and ``children``
    are then its ChildShards.
    """

    held: HeldDeliveries[Record]
    following: str | None
    children: list[Any] = field(default_factory=list)

    def copy(self) -> HeldRead:
        return HeldRead(self.held.copy(), self.following, self.children)


def is_ours(iterator: str) -> bool:
    """Whether an iterator is the fault engine's own, expired or not."""
    return iterator.startswith(_MARK)


class HeldReads:
    """Held reads by their iterators. An iterator is valid for five minutes, and can be used repeatedly."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.awaited = False
        """Whether a reader may have an iterator of ours, expired or not."""
        self._reads: OrderedDict[str, tuple[float, HeldRead]] = OrderedDict()

    def keep(self, read: HeldRead) -> str:
        """Keep a read and return an iterator for it."""
        self._expire()
        token = f"{_MARK}{new_uuid()}"
        self._reads[token] = (self._clock.elapsed() + LIFETIME, read)
        self.awaited = True
        return token

    def find(self, iterator: str) -> HeldRead | None:
        """A copy of the read behind an iterator; None for an iterator of the backend's.

        Raises KinesisError ExpiredIteratorException.
        """
        if not is_ours(iterator):
            return None
        self._expire()
        if iterator not in self._reads:
            raise KinesisError(
                "ExpiredIteratorException",
                "Iterator expired: it was given out more than 300000 milliseconds ago.",
            )
        return self._reads[iterator][1].copy()

    def _expire(self) -> None:
        now = self._clock.elapsed()
        while self._reads:
            until, _ = next(iter(self._reads.values()))
            if until > now and len(self._reads) <= _MOST:
                break
            self._reads.popitem(last=False)
