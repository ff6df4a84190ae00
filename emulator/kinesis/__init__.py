"""Kinesis Data Streams without the network: hash ranges, shards, lineage, iterators, consumers."""

from emulator.kinesis.engine import Engine
from emulator.kinesis.errors import KinesisError, NotFastError
from emulator.kinesis.scope import Scope
from emulator.kinesis.shard_subscriptions import Subscription
from emulator.kinesis.stored_records import StoredRecord
from emulator.kinesis.views import StreamView
from rdss_sandbox.shapes.readers import Reader as ReaderView
from rdss_sandbox.shapes.streams import Shard as ShardView

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
