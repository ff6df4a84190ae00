"""Kinesis Data Streams without the network: hash ranges, shards, lineage, iterators, consumers."""

from emulator.kinesis.engine import Engine
from emulator.kinesis.errors import KinesisError, NotFastError
from emulator.kinesis.reading_views import ReaderView
from emulator.kinesis.scope import Scope
from emulator.kinesis.shard_subscriptions import Subscription
from emulator.kinesis.stored_records import StoredRecord
from emulator.kinesis.views import ShardView, StreamView

__all__ = [
    "Engine",
    "KinesisError",
    "NotFastError",
    "ReaderView",
    "Scope",
    "ShardView",
    "StoredRecord",
    "StreamView",
    "Subscription",
]
