"""Kinesis Data Streams: hash ranges, shards, lineage, sequence numbers, iterators, consumers. No network in it."""

from emulator.kinesis.engine import Engine, ShardView, StreamView
from emulator.kinesis.errors import KinesisError, NotFast
from emulator.kinesis.records import StoredRecord
from emulator.kinesis.scope import Scope
from emulator.kinesis.subscriptions import Subscription

__all__ = [
    "Engine",
    "KinesisError",
    "NotFast",
    "Scope",
    "ShardView",
    "StoredRecord",
    "StreamView",
    "Subscription",
]
