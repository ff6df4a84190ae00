"""Every kind of channel: ours, and those of extensions."""

from __future__ import annotations

from contextlib import ExitStack, closing
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Literal

from emulator.channels.channel import ChannelUnavailableError
from emulator.channels.checkpoints import Checkpoints
from emulator.channels.kinds import Broker, ChannelKind, QueueAsShard, Shards
from emulator.clock import Clock
from rdss_sandbox.installed_extensions import with_declared
from schemas.bound import CONTRACT

if TYPE_CHECKING:
    from emulator.channels.kinesis import KinesisChannel
    from emulator.channels.memory import MemoryChannel
    from emulator.channels.rabbitmq import RabbitMQChannel


class KinesisQueues:
    """Streams behind a Kinesis endpoint."""

    def __init__(self, broker: Broker, clock: Clock) -> None:
        self._broker = broker
        self._clock = clock

    def channel(self, name: str, checkpoints: Checkpoints | None = None) -> KinesisChannel:
        from emulator.channels.kinesis import KinesisChannel, connect

        client = connect(self._broker.address, region=self._broker.region, token=self._broker.token)
        # Records come from others also while the clock that is followed stands.
        return KinesisChannel(client, name, clock=self._clock, checkpoints=checkpoints, polling=Clock())

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
        from emulator.channels.rabbitmq import RabbitMQChannel

        broker = self._broker
        channel = RabbitMQChannel(
            broker.address, name, clock=self._clock, fault_engine=broker.fault_engine, timeout=broker.timeout
        )
        channel.connect()
        return channel

    def shards(self, name: str) -> Shards:
        return QueueAsShard(self.channel(name))

    def close(self) -> None:
        """Do nothing: every channel has its own connection."""


class MemoryQueues:
    """Streams of this process: those of the broker, or else its own. One that is missing gets two shards."""

    def __init__(self, broker: Broker, clock: Clock) -> None:
        from emulator.events import Events
        from emulator.kinesis import Engine

        self._clock = clock
        self._fault_engine = broker.fault_engine
        self._own = ExitStack()
        self.engine = broker.streams or self._own.enter_context(closing(Engine(None, clock, Events(clock))))

    def channel(self, name: str, checkpoints: Checkpoints | None = None) -> MemoryChannel:
        from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
        from emulator.kinesis import KinesisError

        if name not in self.engine.names(DEFAULT_SCOPE):
            try:
                self.engine.call("CreateStream", {"StreamName": name, "ShardCount": 2}, DEFAULT_SCOPE)
            except KinesisError as error:
                raise ChannelUnavailableError(f"{name}: {error}") from error
        return MemoryChannel(
            self.engine,
            name,
            clock=self._clock,
            checkpoints=checkpoints,
            fault_engine=self._fault_engine,
            headers=CONTRACT.headers,
        )

    def shards(self, name: str) -> Shards:
        return self.channel(name)

    def close(self) -> None:
        self._own.close()


_OWN: Final = (
    ChannelKind("memory", MemoryQueues, "here", streams=True),
    ChannelKind(
        "kinesis", KinesisQueues, "aws", streams=True, certified="sandbox.certify.certified_kinds:STREAM"
    ),
    ChannelKind("rabbitmq", RabbitMQQueues, "amqp", certified="sandbox.certify.certified_kinds:QUEUE"),
    ChannelKind("mock", MemoryQueues),
)
KINDS: Final = {kind.name: kind for kind in with_declared("channels", _OWN, attrgetter("name"))}
"""Every kind by its name, those of extensions last."""


def list_kinds(needed: Literal["broker", "port", "certified"]) -> list[str]:
    """The names of the kinds that declare this."""
    return [name for name, kind in KINDS.items() if getattr(kind, needed)]
