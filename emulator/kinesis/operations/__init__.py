"""The operations of Kinesis Data Streams: one file for each group, and the table of all functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.kinesis.operations import (
    account,
    capacity,
    consumers,
    encryption,
    monitoring,
    not_enabled,
    policies,
    records,
    retention,
    shards,
    streams,
    tags,
)
from emulator.kinesis.scope import Scope
from emulator.kinesis.stream_registry import Registry

Operation = Callable[[Registry, dict[str, Any], Scope], dict[str, Any]]

OPERATIONS: Mapping[str, Operation] = {
    "AddTagsToStream": tags.add_tags_to_stream,
    "CreateStream": streams.create_stream,
    "DecreaseStreamRetentionPeriod": retention.decrease_stream_retention_period,
    "DeleteResourcePolicy": policies.delete_resource_policy,
    "DeleteStream": streams.delete_stream,
    "DeregisterStreamConsumer": consumers.deregister_stream_consumer,
    "DescribeAccountSettings": account.describe_account_settings,
    "DescribeLimits": account.describe_limits,
    "DescribeStream": streams.describe_stream,
    "DescribeStreamConsumer": consumers.describe_stream_consumer,
    "DescribeStreamSummary": streams.describe_stream_summary,
    "DisableEnhancedMonitoring": monitoring.disable_enhanced_monitoring,
    "EnableEnhancedMonitoring": monitoring.enable_enhanced_monitoring,
    "GetRecords": records.get_records,
    "GetResourcePolicy": policies.get_resource_policy,
    "GetShardIterator": records.get_shard_iterator,
    "IncreaseStreamRetentionPeriod": retention.increase_stream_retention_period,
    "ListShards": shards.list_shards,
    "ListStreamConsumers": consumers.list_stream_consumers,
    "ListStreams": streams.list_streams,
    "ListTagsForResource": tags.list_tags_for_resource,
    "ListTagsForStream": tags.list_tags_for_stream,
    "MergeShards": shards.merge_shards,
    "PutRecord": records.put_record,
    "PutRecords": records.put_records,
    "PutResourcePolicy": policies.put_resource_policy,
    "RegisterStreamConsumer": consumers.register_stream_consumer,
    "RemoveTagsFromStream": tags.remove_tags_from_stream,
    "SplitShard": shards.split_shard,
    "StartStreamEncryption": encryption.start_stream_encryption,
    "StopStreamEncryption": encryption.stop_stream_encryption,
    "SubscribeToShard": consumers.subscribe_to_shard,
    "TagResource": tags.tag_resource,
    "UntagResource": tags.untag_resource,
    "UpdateAccountSettings": account.update_account_settings,
    "UpdateMaxRecordSize": capacity.update_max_record_size,
    "UpdateShardCount": shards.update_shard_count,
    "UpdateStreamMode": capacity.update_stream_mode,
    "UpdateStreamRecordDistributionStrategy": capacity.update_stream_record_distribution_strategy,
    "UpdateStreamWarmThroughput": capacity.update_stream_warm_throughput,
    **{name: not_enabled.refusing(name) for name in not_enabled.NAMES},
}
