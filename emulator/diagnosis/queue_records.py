"""What one client does with one queue, and with one channel, as it is recorded."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rdss_sandbox.shapes.recorded_queues import BrokenConnection, QueueReading
from rdss_sandbox.shapes.trace import Delivery, Disposition, Put

ACK: Final = Disposition.ACK
"""Looked up once: a member of an enumeration costs more than all else that is recorded of an ack."""
_MOST_RECENT: Final = 1_000
_MOST_BROKEN: Final = 8


class ReadingRecord:
    """What one client consumes of one queue."""

    def __init__(self, client: str, queue: str, at: float) -> None:
        self.client = client
        self.queue = queue
        self.first = self.last = at
        self.no_ack = False
        self.prefetch: int | None = None
        self.delivered = self.acked = self.requeued = self.discarded = 0
        self.in_hand = self.most_in_hand = 0
        self.row = self.longest_row = self.breaks = self._row_mark = 0
        self.row_at = at
        self.broken: deque[BrokenConnection] = deque(maxlen=_MOST_BROKEN)
        self.channels: dict[ChannelRecord, None] = {}

    def note_settled(self, owed: Owed, disposition: Disposition, at: float) -> None:
        """Note that the client settled a delivery."""
        self.in_hand -= 1
        self.last = at
        if disposition is ACK:
            self.row = 0
            self.acked += 1
            return
        if disposition is Disposition.DISCARD:
            self.row = 0
            self.discarded += 1
            return
        self.requeued += 1
        # A client that ends gives back all that it has. In a loop each is of what came since the last.
        if owed.redelivered and owed.number > self._row_mark:
            self.row += 1
            self._row_mark = self.delivered
            if self.row > self.longest_row:
                self.longest_row, self.row_at = self.row, at

    def snapshot(self) -> QueueReading:
        owed = [each for channel in list(self.channels) for each in list(channel.owed.values())]
        # A channel may have consumers of several queues.
        oldest = min((each.at for each in owed if each.record is self), default=None)
        return QueueReading(
            self.client,
            self.queue,
            self.no_ack,
            self.prefetch or 0,
            self.first,
            self.last,
            self.delivered,
            self.acked,
            self.requeued,
            self.discarded,
            self.most_in_hand,
            self.in_hand,
            oldest,
            self.longest_row,
            self.row_at,
            self.breaks,
            tuple(self.broken),
        )


class Owed(NamedTuple):
    """A delivery to acknowledge: the ``number``-th one of its record. ``item`` is what a trace has of it."""

    record: ReadingRecord
    at: float
    number: int
    redelivered: bool
    item: Delivery | None = None


@dataclass(slots=True, eq=False)
class ChannelRecord:
    """What is kept of a channel; ``owed`` has what is to be acknowledged, by delivery tag.

    For a trace alone are the ``gets``, and the puts, with their bodies, that are ``waiting`` for an answer.
    """

    prefetch: int = 0
    window: int = 0
    declared: str = ""
    starting: deque[tuple[ReadingRecord, bool]] = field(default_factory=deque)
    consumers: dict[str, tuple[ReadingRecord, bool]] = field(default_factory=dict)
    owed: dict[int, Owed] = field(default_factory=dict)
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=_MOST_RECENT))
    confirming: bool = False
    published: int = 0
    gets: deque[tuple[ReadingRecord, bool]] = field(default_factory=deque)
    waiting: OrderedDict[int, tuple[Put, bytes]] = field(default_factory=OrderedDict)
