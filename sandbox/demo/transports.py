"""What carries the messages of a demonstration: a Kinesis stream, or a queue behind the AMQP port."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from emulator.channels import Channel, Checkpoints, Delivery
from emulator.channels.kinesis import KinesisChannel
from emulator.channels.rabbitmq import RabbitMQChannel
from emulator.clock import Clock
from emulator.streams.amqp_log import stream_of_channel
from sandbox.endpoint import Endpoint
from sandbox.receiver import S3Originals
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.receiver.over_kinesis import receiver_over_kinesis
from sandbox.receiver.receiver import Receiver
from sandbox.receiver.receiving_application import Application
from sandbox.repository import Repository

PATIENCE_SECONDS = 5.0
"""The time in seconds that a read waits for the next message."""


class Transport(Protocol):
    """Channels of one kind. The sandbox records what goes through a channel in the stream ``recorded_in``."""

    def open_channel(self, name: str) -> Channel: ...
    def recorded_in(self, name: str) -> str: ...
    def receiver(
        self, channel: str, repository: Repository, application: Application
    ) -> AbstractContextManager[Receiver]:
        """Build a receiver of ``channel`` whose rejects leave through channels of the same kind."""


@dataclass(frozen=True, slots=True)
class OverKinesis:
    """Streams of an AWS endpoint."""

    endpoint: Endpoint
    clock: Clock

    def open_channel(self, name: str) -> Channel:
        return KinesisChannel(self.endpoint.kinesis(), name, clock=self.clock)

    def recorded_in(self, name: str) -> str:
        return name

    def receiver(
        self, channel: str, repository: Repository, application: Application
    ) -> AbstractContextManager[Receiver]:
        return receiver_over_kinesis(self.endpoint, channel, repository, application, self.clock)


@dataclass(frozen=True, slots=True)
class OverAmqp:
    """Queues of the broker at ``url``; originals of rejected messages go to the S3 of ``endpoint``."""

    url: str
    endpoint: Endpoint
    clock: Clock

    def open_channel(self, name: str) -> Channel:
        return RabbitMQChannel(self.url, name, clock=self.clock)

    def recorded_in(self, name: str) -> str:
        return stream_of_channel(name)

    def receiver(
        self, channel: str, repository: Repository, application: Application
    ) -> AbstractContextManager[Receiver]:
        def open_by_name(name: str, _checkpoints: Checkpoints) -> Channel:
            return self.open_channel(name)

        return assembled_receiver(
            open_by_name,
            S3Originals(self.endpoint.s3()),
            stream=channel,
            repository=repository,
            application=application,
            clock=self.clock,
        )


def read_back(transport: Transport, name: str, count: int) -> list[Delivery]:
    """Read ``count`` messages of a channel from its start, and commit none; fewer when no more arrive."""
    channel = transport.open_channel(name)
    found: list[Delivery] = []
    while len(found) < count and (more := channel.read(limit=10_000, wait=PATIENCE_SECONDS)):
        found += more
    channel.close()
    return found
