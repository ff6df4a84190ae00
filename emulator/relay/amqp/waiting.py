"""Messages from the broker that wait for a consumer, or for the gets of a queue."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from emulator.faults.delayed_deliveries import DelayedDeliveries, Due
from emulator.faults.fault import Call
from emulator.faults.holding import Hold, Moment
from emulator.relay.amqp.acknowledgements import BrokerDelivery, PrefetchWindow
from emulator.relay.amqp.frames import Command

_COPY_PATIENCE: Final = 1.0
_EVERYTHING: Final = 1 << 30


@dataclass(slots=True, eq=False)
class Arrived:
    """A message from the broker; ``handed`` is None if it needs no settling."""

    command: Command
    handed: BrokerDelivery | None


class Dropped(NamedTuple):
    """A delivery that was given up; ``first`` is False for a copy."""

    arrived: Arrived
    first: bool


@dataclass(slots=True, eq=False)
class Waiting:
    """The messages for one reader of ``queue``, in order: ``unseen`` by the faults, then ``pending``."""

    queue: str
    no_ack: bool = False
    window: PrefetchWindow = field(default_factory=PrefetchWindow)
    unseen: deque[Arrived] = field(default_factory=deque)
    pending: DelayedDeliveries[Arrived] = field(default_factory=DelayedDeliveries)
    again_at: float = 0.0
    """When a throttled message is tried again, in seconds since the epoch."""

    @property
    def empty(self) -> bool:
        return not self.unseen and not len(self.pending)

    def accept(self, call: Call, now: float, *, hide: bool = True) -> None:
        """Move the first unseen message, with its copies, to the pending ones, as the faults decided.

        With ``hide``, a delay of the call hides the message, and those behind it, for that time.
        """
        (item,) = call.items
        arrived = self.unseen.popleft()
        if hide:
            item.hidden += [Moment(hold, now + seconds) for hold, seconds in call.delays]
        if any(item.again):
            # Messages arrive one by one: a copy waits a moment for those that may come between.
            item.patience.append(Moment(Hold(), now + _COPY_PATIENCE))
        if arrived.handed is not None:
            arrived.handed.left = 1 + len(item.again)
        self.pending.add([(item, arrived)])

    def due(self, now: float) -> Due[Arrived] | None:
        """Take the next delivery, if it is due and within the prefetch limit; else None."""
        found = self.pending.take(now, 1) if self.window.room else []
        return found[0] if found else None

    def wakes_at(self) -> float | None:
        """The time of the next scheduled look, in seconds since the epoch; None if only events matter."""
        times = [self.again_at] if self.unseen else []
        if len(self.pending) and self.window.room:
            times.append(self.pending.due_at())
        return min(times, default=None)

    def drop(self) -> list[Dropped]:
        """Give up all waiting messages."""
        dropped = [Dropped(arrived, first=True) for arrived in self.unseen]
        late = self.pending.take(math.inf, _EVERYTHING)
        dropped += [Dropped(due.record, first=not due.again) for due in late]
        self.unseen.clear()
        return dropped
