"""The operations of Kinesis Data Streams: one file per group, and the table that says which function does which."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.kinesis.operations import records, shards, streams
from emulator.kinesis.registry import Registry
from emulator.kinesis.scope import Scope

Operation = Callable[[Registry, dict[str, Any], Scope], dict[str, Any]]

OPERATIONS: Mapping[str, Operation] = {
    "CreateStream": streams.create_stream,
    "DeleteStream": streams.delete_stream,
    "DescribeStream": streams.describe_stream,
    "DescribeStreamSummary": streams.describe_stream_summary,
    "GetRecords": records.get_records,
    "GetShardIterator": records.get_shard_iterator,
    "ListShards": shards.list_shards,
    "ListStreams": streams.list_streams,
    "MergeShards": shards.merge_shards,
    "PutRecord": records.put_record,
    "PutRecords": records.put_records,
    "SplitShard": shards.split_shard,
    "UpdateShardCount": shards.update_shard_count,
    "UpdateStreamMode": streams.update_stream_mode,
}
