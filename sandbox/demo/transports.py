"""What carries the messages of a demonstration: a Kinesis stream, or a queue behind the AMQP port."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from emulator.channels import Channel, Checkpoints, Delivery
from emulator.channels.kinds import Broker
from emulator.channels.registry import KINDS
from emulator.clock import Clock
from emulator.streams.amqp_log import stream_of_channel
from sandbox.endpoint import Endpoint
from sandbox.receiver import S3Originals
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.receiver.receiver import Receiver
from sandbox.receiver.receiving_application import Application
from sandbox.repository import Repository

PATIENCE_SECONDS = 5.0
"""The time in seconds that a read waits for the next message."""


@dataclass(frozen=True, slots=True)
class Transport:
    """Channels of one kind, whose broker is at ``address``.

    Originals of rejected messages go to the S3 of ``endpoint``.
    """

    kind: str
    address: str
    endpoint: Endpoint
    clock: Clock

    def open_channel(self, name: str, checkpoints: Checkpoints | None = None) -> Channel:
        broker = Broker(self.address, self.endpoint.region, token=self.endpoint.token)
        return KINDS[self.kind].connect(broker, self.clock).channel(name, checkpoints)

    def recorded_in(self, name: str) -> str:
        """The stream in which the sandbox records what goes through a channel."""
        return name if KINDS[self.kind].streams else stream_of_channel(name)

    def receiver(
        self, channel: str, repository: Repository, application: Application
    ) -> AbstractContextManager[Receiver]:
        """Build a receiver of ``channel`` whose rejects leave through channels of the same kind."""
        return assembled_receiver(
            self.open_channel,
            S3Originals(self.endpoint.s3()),
            stream=channel,
            repository=repository,
            application=application,
            clock=self.clock,
        )


def over_kinesis(endpoint: Endpoint, clock: Clock) -> Transport:
    """Streams of an AWS endpoint."""
    return Transport("kinesis", endpoint.url, endpoint, clock)


def read_back(transport: Transport, name: str, count: int) -> list[Delivery]:
    """Read ``count`` messages of a channel from its start, and commit none; fewer when no more arrive."""
    channel = transport.open_channel(name)
    found: list[Delivery] = []
    while len(found) < count and (more := channel.read(limit=10_000, wait=PATIENCE_SECONDS)):
        found += more
    channel.close()
    return found
