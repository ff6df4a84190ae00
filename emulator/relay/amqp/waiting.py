"""Messages that the broker handed out and a consumer, or the gets of a queue, was not given yet."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from emulator.faults.delayed_deliveries import DelayedDeliveries, Due
from emulator.faults.fault import Call
from emulator.faults.holding import Hold, Moment
from emulator.relay.amqp.acknowledgements import Handed, Window
from emulator.relay.amqp.frames import Command

_COPY_PATIENCE: Final = 1.0
_EVERYTHING: Final = 1 << 30


@dataclass(slots=True, eq=False)
class Arrived:
    """A message of the broker's; ``handed`` is None where nothing is to be settled."""

    unit: Command
    handed: Handed | None


class Dropped(NamedTuple):
    """A delivery that will not be made; ``first`` of its message, or a copy."""

    arrived: Arrived
    first: bool


@dataclass(slots=True, eq=False)
class Waiting:
    """What came for one reader of ``queue``, in its order: first ``unseen`` by the faults, then pending."""

    queue: str
    no_ack: bool = False
    window: Window = field(default_factory=Window)
    unseen: deque[Arrived] = field(default_factory=deque)
    pending: DelayedDeliveries[Arrived] = field(default_factory=DelayedDeliveries)
    again_at: float = 0.0
    """When the first unseen may be tried again, after it was throttled: seconds since the epoch."""

    @property
    def empty(self) -> bool:
        return not self.unseen and not len(self.pending)

    def struck(self, call: Call, now: float, *, hide: bool = True) -> None:
        """The first of the unseen met the faults: it waits for its turn, with its copies.

        ``hide``: what delays a call hides the message for as long, and those behind it.
        """
        (item,) = call.items
        arrived = self.unseen.popleft()
        if hide:
            item.hidden += [Moment(hold, now + seconds) for hold, seconds in call.delays]
        if any(item.again):
            # Messages come one by one: a copy waits a moment for those that shall be between.
            item.patience.append(Moment(Hold(), now + _COPY_PATIENCE))
        if arrived.handed is not None:
            arrived.handed.left = 1 + len(item.again)
        self.pending.add([(item, arrived)])

    def due(self, now: float) -> Due[Arrived] | None:
        """The next delivery, if its turn has come and the client has room for it."""
        found = self.pending.take(now, 1) if self.window.room else []
        return found[0] if found else None

    def wakes_at(self) -> float | None:
        """When to look again though nothing came and nothing was settled; None when there is no need."""
        times = [self.again_at] if self.unseen else []
        if len(self.pending) and self.window.room:
            times.append(self.pending.due_at())
        return min(times, default=None)

    def drop(self) -> list[Dropped]:
        """Give up what waits."""
        dropped = [Dropped(arrived, first=True) for arrived in self.unseen]
        late = self.pending.take(math.inf, _EVERYTHING)
        dropped += [Dropped(due.record, first=not due.again) for due in late]
        self.unseen.clear()
        return dropped
