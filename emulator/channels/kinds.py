"""A kind of channel: its brokers behind one interface, with channels to send and receive, and shards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from emulator.channels.channel import Channel
from emulator.channels.checkpoints import Checkpoints
from emulator.channels.shard_calls import Fetched
from emulator.channels.shard_reader import ShardListing, ShardSource
from emulator.clock import Clock
from rdss_sandbox.extension import Place

if TYPE_CHECKING:
    from emulator.faults.fault_engine import FaultEngine
    from emulator.streams.stream_service import StreamService


class Broker(NamedTuple):
    """Where a broker answers; ``timeout``, in seconds, is how long its answer is waited for.

    ``token`` is that of the sandbox that it is in. ``fault_engine`` has the faults that are to strike its
    channels, where the broker itself does not apply them. ``streams`` are those of a sandbox in this process.
    """

    address: str
    region: str
    timeout: float = 10.0
    token: str | None = None
    fault_engine: FaultEngine | None = None
    streams: StreamService | None = None


class Shards(ShardSource, Protocol):
    """The shards of a channel, read by several threads; only one thread reads a shard at a time."""

    def close(self) -> None: ...


class Queues(Protocol):
    """The channels of one broker."""

    def channel(self, name: str, checkpoints: Checkpoints | None = None) -> Channel:
        """Open a channel for one thread; a stream is read after its checkpoints, or from its start."""

    def shards(self, name: str) -> Shards:
        """Open the shards of a channel."""

    def close(self) -> None: ...


class QueueAsShard:
    """A queue with a single reader, as one shard; messages are acknowledged as they are read."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def shards(self) -> list[ShardListing]:
        return [ShardListing(self._channel.name)]

    def fetch(self, _shard: str, _after: str | None, limit: int) -> Fetched:
        found = self._channel.read(limit=limit)
        if found:
            self._channel.commit(found[-1])
        return Fetched(found, drained=False)

    def close(self) -> None:
        self._channel.close()


@dataclass(frozen=True, slots=True)
class ChannelKind:
    """``connect`` makes the queues of a broker; a connection is made when a channel is opened.

    ``broker`` says where in a sandbox its broker answers: at the port ``aws`` or ``amqp``, or ``here``, in
    its own process. Where it is empty, no scenario and no command has channels of this kind. With
    ``streams``, they are the sandbox's own streams. ``certified`` is the place of the
    ``sandbox.certify.certified_kinds.Certified`` by which its clients are certified.
    """

    name: str
    connect: Callable[[Broker, Clock], Queues]
    broker: Literal["", "here", "aws", "amqp"] = ""
    streams: bool = False
    certified: Place = ""

    @property
    def port(self) -> str:
        """The port of a sandbox at which other processes find its broker; empty where they find none."""
        return "" if self.broker == "here" else self.broker
