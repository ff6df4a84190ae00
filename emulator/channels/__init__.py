"""Channels: one seam over the in-process engine, Kinesis and RabbitMQ."""

from emulator.channels.channel import (
    Channel,
    ChannelUnavailable,
    Delivery,
    Outcome,
    PublishRefused,
    PublishUnknown,
    Receipt,
)
from emulator.channels.checkpoints import SHARD_END, Checkpoints, MemoryCheckpoints

__all__ = [
    "SHARD_END",
    "Channel",
    "ChannelUnavailable",
    "Checkpoints",
    "Delivery",
    "MemoryCheckpoints",
    "Outcome",
    "PublishRefused",
    "PublishUnknown",
    "Receipt",
]
