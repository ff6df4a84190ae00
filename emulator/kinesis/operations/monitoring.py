"""Enhanced monitoring: the shard-level metrics that a stream sends."""

from __future__ import annotations

from typing import Any

from emulator.kinesis.scope import Scope
from emulator.kinesis.stream import Stream
from emulator.kinesis.stream_registry import Registry, changed

METRICS = (
    "IncomingBytes",
    "IncomingRecords",
    "IteratorAgeMilliseconds",
    "OutgoingBytes",
    "OutgoingRecords",
    "ReadProvisionedThroughputExceeded",
    "WriteProvisionedThroughputExceeded",
)


def enable_enhanced_monitoring(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find_active(request, scope)
    return _monitor(registry, stream, set(stream.state.metrics) | _named(request))


def disable_enhanced_monitoring(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find_active(request, scope)
    return _monitor(registry, stream, set(stream.state.metrics) - _named(request))


def _named(request: dict[str, Any]) -> set[str]:
    named = set(request["ShardLevelMetrics"])
    return set(METRICS) if "ALL" in named else named


def _monitor(registry: Registry, stream: Stream, metrics: set[str]) -> dict[str, Any]:
    before, after = list(stream.state.metrics), sorted(metrics)
    registry.save(changed(stream.state, metrics=after, **registry.updating()))
    return {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "CurrentShardLevelMetrics": before,
        "DesiredShardLevelMetrics": after,
    }
