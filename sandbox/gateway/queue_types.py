"""The three types of queue behind one interface: channels to send and receive, shards to find answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from emulator.channels import Channel, ChannelUnavailableError, Checkpoints
from emulator.channels.kinesis import KinesisChannel, connect
from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.channels.rabbitmq import RabbitMQChannel
from emulator.channels.shard_calls import Fetched
from emulator.channels.shards import ShardListing, ShardSource
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine, KinesisError
from sandbox.gateway.settings import GatewaySettings


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


class KinesisQueues:
    """Streams behind a Kinesis endpoint."""

    def __init__(self, settings: GatewaySettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    def channel(self, name: str, checkpoints: Checkpoints | None = None) -> KinesisChannel:
        client = connect(self._settings.address, region=self._settings.region)
        return KinesisChannel(client, name, clock=self._clock, checkpoints=checkpoints)

    def shards(self, name: str) -> Shards:
        return self.channel(name)

    def close(self) -> None:
        """Do nothing: every channel has its own client."""


class RabbitMQQueues:
    """Queues of a RabbitMQ broker; each is one shard."""

    def __init__(self, settings: GatewaySettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    def channel(self, name: str, _checkpoints: Checkpoints | None = None) -> RabbitMQChannel:
        """Open a channel. Raises ``ChannelUnavailableError`` when no broker answers within the timeout."""
        timeout = self._settings.timeout
        channel = RabbitMQChannel(self._settings.address, name, clock=self._clock, timeout=timeout)
        channel.connect()
        return channel

    def shards(self, name: str) -> Shards:
        return _QueueAsShard(self.channel(name))

    def close(self) -> None:
        """Do nothing: every channel has its own connection."""


class MockQueues:
    """Streams of two shards in this process, created on first use."""

    def __init__(self, _settings: GatewaySettings, clock: Clock) -> None:
        self._clock = clock
        self.engine = Engine(None, clock, Events(clock))

    def channel(self, name: str, checkpoints: Checkpoints | None = None) -> MemoryChannel:
        if name not in self.engine.names(DEFAULT_SCOPE):
            try:
                self.engine.call("CreateStream", {"StreamName": name, "ShardCount": 2}, DEFAULT_SCOPE)
            except KinesisError as error:
                raise ChannelUnavailableError(f"{name}: {error}") from error
        return MemoryChannel(self.engine, name, clock=self._clock, checkpoints=checkpoints)

    def shards(self, name: str) -> Shards:
        return self.channel(name)

    def close(self) -> None:
        self.engine.close()


class _QueueAsShard:
    """A RabbitMQ queue with a single reader, as one shard; messages are acknowledged as they are read."""

    def __init__(self, channel: RabbitMQChannel) -> None:
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


_TYPES: Final[dict[str, Callable[[GatewaySettings, Clock], Queues]]] = {
    "kinesis": KinesisQueues,
    "rabbitmq": RabbitMQQueues,
    "mock": MockQueues,
}


def open_queues(settings: GatewaySettings, clock: Clock) -> Queues:
    """The queues of the settings; the first connection to a broker is made when a channel is opened."""
    return _TYPES[settings.queue](settings, clock)
