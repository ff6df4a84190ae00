"""Every kind of channel: ours, and those of extensions."""

from __future__ import annotations

from typing import Final

from emulator.channels.channel import ChannelUnavailableError
from emulator.channels.checkpoints import Checkpoints
from emulator.channels.kinds import Broker, ChannelKind, QueueAsShard, Shards
from emulator.channels.kinesis import KinesisChannel, connect
from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.channels.rabbitmq import RabbitMQChannel
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine, KinesisError
from rdss_sandbox.installed_extensions import import_declared


class KinesisQueues:
    """Streams behind a Kinesis endpoint."""

    def __init__(self, broker: Broker, clock: Clock) -> None:
        self._broker = broker
        self._clock = clock

    def channel(self, name: str, checkpoints: Checkpoints | None = None) -> KinesisChannel:
        client = connect(self._broker.address, region=self._broker.region)
        return KinesisChannel(client, name, clock=self._clock, checkpoints=checkpoints)

    def shards(self, name: str) -> Shards:
        return self.channel(name)

    def close(self) -> None:
        """Do nothing: every channel has its own client."""


class RabbitMQQueues:
    """Queues of a RabbitMQ broker; each is one shard."""

    def __init__(self, broker: Broker, clock: Clock) -> None:
        self._broker = broker
        self._clock = clock

    def channel(self, name: str, _checkpoints: Checkpoints | None = None) -> RabbitMQChannel:
        """Open a channel. Raises ``ChannelUnavailableError`` when no broker answers within the timeout."""
        timeout = self._broker.timeout
        channel = RabbitMQChannel(self._broker.address, name, clock=self._clock, timeout=timeout)
        channel.connect()
        return channel

    def shards(self, name: str) -> Shards:
        return QueueAsShard(self.channel(name))

    def close(self) -> None:
        """Do nothing: every channel has its own connection."""


class MockQueues:
    """Streams of two shards in this process, created on first use."""

    def __init__(self, _broker: Broker, clock: Clock) -> None:
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


_OWN: Final = (
    ChannelKind("kinesis", KinesisQueues),
    ChannelKind("rabbitmq", RabbitMQQueues),
    ChannelKind("mock", MockQueues),
)
KINDS: Final[dict[str, ChannelKind]] = {kind.name: kind for kind in (*import_declared("channels"), *_OWN)}
"""Every kind by its name. One of an extension does not take the place of one of ours."""
