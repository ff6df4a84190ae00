"""Creating, deleting, describing and listing streams."""

from __future__ import annotations

from typing import Any

from emulator.kinesis import hash_keys, shard_ids
from emulator.kinesis.errors import in_use, invalid_argument, limit_exceeded
from emulator.kinesis.limits import SHARDS_A_STREAM
from emulator.kinesis.operations.capacity import require_warm_throughput
from emulator.kinesis.scope import Scope
from emulator.kinesis.stream import Stream
from emulator.kinesis.stream_registry import Registry, changed
from emulator.kinesis.stream_state import ShardState, StreamState
from emulator.kinesis.tag_rules import add_tags
from emulator.rng import new_uuid

# As many as AWS gives a new stream in the ON_DEMAND mode.
_UNASKED_SHARDS = 4
_PAGE = 100


def create_stream(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    name = request["StreamName"]
    mode = request.get("StreamModeDetails", {}).get("StreamMode", "PROVISIONED")
    if any(stream.name == name for stream in registry.settle_all(scope)):
        raise in_use(f"Stream {name} under account {scope.account} already exists.")
    count = _shard_count(request, mode)
    if request.get("WarmThroughputMiBps") is not None:
        require_warm_throughput(registry, mode, scope)
    distribution = request.get("RecordDistributionStrategy", "USER_PARTITION_KEY")
    if distribution == "AUTO" and mode != "ON_DEMAND":
        raise invalid_argument(
            "RecordDistributionStrategy AUTO is supported only for streams in the ON_DEMAND mode."
        )
    tags = add_tags(name, scope.account, {}, request.get("Tags") or {})
    now = registry.clock.time()
    identity = new_uuid().replace("-", "")
    state = StreamState(
        name=name,
        account=scope.account,
        region=scope.region,
        created=now,
        number=registry.new_number(),
        id=f"{identity[:20]}-{identity[20:23]}",
        shards=_first_shards(count, now),
        next_shard=count,
        mode=mode,
        busy="CREATING",
        busy_until=registry.settled_at(),
        tags=tags,
        max_record_kib=request.get("MaxRecordSizeInKiB", 1024),
        warm_mibps=request.get("WarmThroughputMiBps"),
        distribution=distribution,
    )
    _check_quota(registry, state)
    registry.save(state)
    registry.events.emit("stream.created", stream=name, shards=count)
    return {}


def delete_stream(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find(request, scope)
    registry.require_status(stream, "ACTIVE", "CREATING", "UPDATING")
    if stream.state.consumers and not request.get("EnforceConsumerDeletion", False):
        raise in_use(
            f"Stream {stream.name} under account {stream.account} has consumers registered. "
            "Set EnforceConsumerDeletion to delete it with them."
        )
    registry.subscriptions.end(stream.arn)
    registry.touch(stream, stream.shards.values())
    if registry.transition:
        now = registry.clock.time()
        # A stream that was never ACTIVE shows no shards while it is deleted.
        fields: dict[str, Any] = {"shards": []} if stream.status(now) == "CREATING" else {}
        until = now + registry.transition
        registry.save(
            changed(stream.state, busy="DELETING", busy_until=until, coming=None, consumers=[], **fields)
        )
    else:
        registry.forget(stream)
    registry.events.emit("stream.deleted", stream=stream.name)
    return {}


def describe_stream(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find(request, scope)
    registry.expire_shards(stream)
    after = request.get("ExclusiveStartShardId", "")
    after = shard_ids.whole(after) or after
    limit = min(request.get("Limit", _PAGE), _PAGE)
    created = stream.status(registry.clock.time()) != "CREATING"
    shards = [shard for shard in stream.shards.values() if created and shard.id > after]
    description = _common(registry, stream) | {
        "Shards": [shard.describe() for shard in shards[:limit]],
        "HasMoreShards": len(shards) > limit,
    }
    return {"StreamDescription": description}


def describe_stream_summary(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find(request, scope)
    created = stream.status(registry.clock.time()) != "CREATING"
    summary = _common(registry, stream) | {
        "StreamId": stream.state.id,
        "OpenShardCount": len(stream.open_shards) if created else 0,
        "ConsumerCount": len(stream.state.consumers),
        "MaxRecordSizeInKiB": stream.state.max_record_kib,
        "ChannelCount": 0,
        "QueueCount": 0,
    }
    if stream.state.mode == "ON_DEMAND":
        summary["RecordDistributionStrategy"] = stream.state.distribution
        warm = stream.state.warm_mibps
        summary["WarmThroughput"] = {"TargetMiBps": warm or 0, "CurrentMiBps": warm or 0}
    return {"StreamDescriptionSummary": summary}


def list_streams(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    after = request.get("NextToken") or request.get("ExclusiveStartStreamName") or ""
    limit = min(request.get("Limit", _PAGE), _PAGE)
    streams = [stream for stream in registry.settle_all(scope) if stream.name > after]
    page = streams[:limit]
    answer: dict[str, Any] = {
        "StreamNames": [stream.name for stream in page],
        "HasMoreStreams": len(streams) > limit,
        "StreamSummaries": [_summary(registry, stream) for stream in page],
    }
    if answer["HasMoreStreams"]:
        answer["NextToken"] = page[-1].name
    return answer


def _shard_count(request: dict[str, Any], mode: str) -> int:
    count: int | None = request.get("ShardCount")
    if mode == "ON_DEMAND" and count is not None:
        raise invalid_argument("ShardCount must not be set for a stream in the ON_DEMAND mode.")
    if count is None and request.get("StreamModeDetails", {}).get("StreamMode") == "PROVISIONED":
        raise invalid_argument("ShardCount must be set for a stream in the PROVISIONED mode.")
    if count is None:
        return _UNASKED_SHARDS
    if count > SHARDS_A_STREAM:
        raise limit_exceeded(f"A stream can have at most {SHARDS_A_STREAM} shards. ShardCount: {count}")
    return count


def _check_quota(registry: Registry, state: StreamState) -> None:
    streams, now = registry.settle_all(state.scope), registry.clock.time()
    creating = sum(stream.status(now) == "CREATING" for stream in streams)
    on_demand = sum(stream.state.mode == "ON_DEMAND" for stream in streams)
    registry.limits.new_stream(state.scope, creating, on_demand if state.mode == "ON_DEMAND" else 0)
    registry.check_shard_quota(state.scope, len(state.shards))


def _first_shards(count: int, now: float) -> list[ShardState]:
    return [
        ShardState(i, str(start), str(end), epoch=int(now), created=int(now * 1000))
        for i, (start, end) in enumerate(hash_keys.uniform(count))
    ]


def _common(registry: Registry, stream: Stream) -> dict[str, Any]:
    state = stream.state
    shape = _summary(registry, stream) | {
        "RetentionPeriodHours": state.retention_hours,
        "EnhancedMonitoring": [{"ShardLevelMetrics": list(state.metrics)}],
        "EncryptionType": state.encryption,
    }
    if state.key_id is not None:
        shape["KeyId"] = state.key_id
    return shape


def _summary(registry: Registry, stream: Stream) -> dict[str, Any]:
    return {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "StreamStatus": stream.status(registry.clock.time()),
        "StreamModeDetails": {"StreamMode": stream.state.mode},
        "StreamCreationTimestamp": stream.state.created,
    }
