"""What a receiver needs of a Kinesis endpoint; originals of rejected messages go to the endpoint's S3."""

from __future__ import annotations

from emulator.channels.channel import Channel
from emulator.channels.checkpoints import Checkpoints
from emulator.channels.kinesis import KinesisChannel
from emulator.clock import Clock
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.receiver.assembled_receiver import OpenChannel
from sandbox.receiver.originals import S3Originals


def open_endpoint(endpoint: AwsEndpoint, clock: Clock) -> tuple[OpenChannel, S3Originals]:
    """The first two arguments of ``assembled_receiver``.

    Channels back off on ``clock``, and poll for records in real time.
    """
    polling = Clock()

    def open_channel(name: str, checkpoints: Checkpoints) -> Channel:
        client = endpoint.kinesis()
        return KinesisChannel(client, name, clock=clock, checkpoints=checkpoints, polling=polling)

    return open_channel, S3Originals(endpoint.s3())
