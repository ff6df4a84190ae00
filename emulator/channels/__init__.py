"""Channels: one protocol over the in-process engine, Kinesis and RabbitMQ."""

from emulator.channels.channel import (
    Channel,
    ChannelUnavailableError,
    Delivery,
    Outcome,
    PublishRefusedError,
    PublishUnknownError,
    Receipt,
)
from emulator.channels.checkpoints import SHARD_END, Checkpoints, MemoryCheckpoints

__all__ = [
    "SHARD_END",
    "Channel",
    "ChannelUnavailableError",
    "Checkpoints",
    "Delivery",
    "MemoryCheckpoints",
    "Outcome",
    "PublishRefusedError",
    "PublishUnknownError",
    "Receipt",
]
