"""The picture of a running sandbox that the watch page draws, made small on the server."""

from __future__ import annotations

from typing import Literal

import msgspec

from rdss_sandbox.shapes.clock import ClockReading
from rdss_sandbox.shapes.faults import Fault


class ShardLane(msgspec.Struct, frozen=True):
    """A shard as a lane: its hash key range from ``start`` to ``end``, as fractions of all hash keys.

    ``unread`` is as for ``Stream``.
    """

    id: str
    parents: tuple[str, ...]
    start: float
    end: float
    open: bool
    records: int
    unread: int | None = None


class ShardReader(msgspec.Struct, frozen=True):
    """A reader on a lane: ``behind`` in records, ``late`` in whole seconds, as for ``Reader``.

    ``live`` says that it has read within the last minute. ``shard`` is null for a registered consumer that
    has no subscription.
    """

    name: str
    shard: str | None
    behind: int
    late: int
    live: bool


class StreamPicture(msgspec.Struct, frozen=True, kw_only=True):
    """A stream: its lanes by hash key, parents before children, and its readers, the slowest first.

    ``put`` counts the records that were ever put, ``rate`` those of a real second now. ``aside`` says that it
    is the audit log or a queue of refused messages. ``readers_known`` is False where an upstream or a broker
    has the readers. Of many shards and readers some are left out: closed shards first, and readers that are
    not far behind.
    """

    name: str
    status: str
    records: int
    put: int
    rate: float
    unread: int | None
    lanes: tuple[ShardLane, ...]
    readers: tuple[ShardReader, ...]
    readers_known: bool = True
    aside: bool = False
    left_out_shards: int = 0
    left_out_readers: int = 0


class NewsLine(msgspec.Struct, frozen=True):
    """What happened, in a sentence; ``id`` is that of the event, 0 where a record told it.

    ``at`` is in seconds since the epoch, by the sandbox's clock.
    """

    id: int
    at: float
    tone: Literal["good", "bad", "plain"]
    said: str


class FaultStrike(msgspec.Struct, frozen=True):
    """The last strike of a fault on a channel: the id of its event, and what the fault did."""

    id: int
    fault: str
    channel: str
    did: str


class ShownFinding(msgspec.Struct, frozen=True):
    """A mistake of a client, as ``Finding`` has it; ``id`` is that of the event that told it."""

    id: int
    rule: str
    harm: str
    client: str | None
    stream: str
    shard: str | None
    said: str
    advice: str


class RunCounts(msgspec.Struct, frozen=True):
    """Messages of a scenario that plays here, each time counted that it happened to one."""

    offered: int
    acknowledged: int
    delivered: int
    processed: int
    rejected: int


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """The sandbox at one moment: streams, faults and their strikes, findings, the last error and the news.

    Streams that stand ``aside`` come after the others.
    ``contract`` is the name and the release of what messages are judged by.
    News and findings stand oldest first, ``strikes`` has one of each fault and channel. ``run`` is null where
    no scenario plays. ``queues`` names the streams of refused messages.
    """

    contract: str
    clock: ClockReading
    streams: tuple[StreamPicture, ...]
    left_out_streams: int
    faults: tuple[Fault, ...]
    strikes: tuple[FaultStrike, ...]
    findings: tuple[ShownFinding, ...]
    error: NewsLine | None
    news: tuple[NewsLine, ...]
    run: RunCounts | None
    queues: tuple[str, ...] = ()
