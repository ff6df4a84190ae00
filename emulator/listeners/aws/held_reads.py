"""Records that a read found and its client was not given yet, behind shard iterators of the stage's own."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final

from emulator.clock import Clock
from emulator.faults.delayed_deliveries import DelayedDeliveries
from emulator.kinesis.errors import KinesisError
from emulator.rng import new_uuid

LIFETIME: Final = 300.0
"""Seconds for which an iterator is good, as Kinesis'."""
_AWAITED: Final = 3600.0
"""Seconds for which one that expired is still known to have been ours."""
_MARK: Final = "fault-stage:"
_MOST: Final = 10_000

Record = dict[str, Any]


@dataclass(slots=True)
class HeldRead:
    """A place in a shard: what is held back there, and where the backend goes on.

    ``following`` is the backend's iterator, None at the end of a closed shard,
    whose ``children`` are then named.
    """

    stream: str
    following: str | None
    children: list[Any] = field(default_factory=list)
    pending: DelayedDeliveries[Record] = field(default_factory=DelayedDeliveries)

    def copy(self) -> HeldRead:
        return HeldRead(self.stream, self.following, self.children, self.pending.copy())


class HeldReads:
    """Held reads by their iterators, which are good for five minutes and as often as they are asked for."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._awaited_until = 0.0
        self._reads: OrderedDict[str, tuple[float, HeldRead]] = OrderedDict()

    def awaits(self, iterator: str | None) -> bool:
        """Whether an iterator is ours, be it an expired one; of None, whether somebody may come with one."""
        if iterator is not None:
            return iterator.startswith(_MARK)
        return self._clock.elapsed() < self._awaited_until

    def keep(self, read: HeldRead) -> str:
        """An iterator for this read."""
        self._expire()
        token = f"{_MARK}{new_uuid()}"
        now = self._clock.elapsed()
        self._reads[token] = (now + LIFETIME, read)
        self._awaited_until = now + _AWAITED
        return token

    def find(self, iterator: str) -> HeldRead | None:
        """The read behind an iterator, None for the backend's. KinesisError when it expired."""
        if not iterator.startswith(_MARK):
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
