"""Tags: the older operations are for streams, the newer ones for streams and consumers."""

from __future__ import annotations

from typing import Any

from emulator.kinesis.operations.consumers import find_consumer, with_tags
from emulator.kinesis.scope import Scope, consumer_of
from emulator.kinesis.stream_registry import Registry, changed
from emulator.kinesis.tag_rules import MAX_TAGS, add_tags, remove_tags


def add_tags_to_stream(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find(request, scope)
    tags = add_tags(stream.name, stream.account, stream.state.tags, request["Tags"])
    registry.save(changed(stream.state, tags=tags))
    return {}


def remove_tags_from_stream(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find(request, scope)
    tags = remove_tags(stream.name, stream.account, stream.state.tags, request["TagKeys"])
    registry.save(changed(stream.state, tags=tags))
    return {}


def list_tags_for_stream(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find(request, scope)
    after, limit = request.get("ExclusiveStartTagKey", ""), request.get("Limit", MAX_TAGS)
    tags = [tag for tag in _shape(stream.state.tags) if tag["Key"] > after]
    return {"Tags": tags[:limit], "HasMoreTags": len(tags) > limit}


def tag_resource(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    arn = request["ResourceARN"]
    if consumer_of(arn) is None:
        return add_tags_to_stream(registry, {"StreamARN": arn, "Tags": request["Tags"]}, scope)
    stream, consumer = find_consumer(registry, {"ConsumerARN": arn}, scope)
    tags = add_tags(consumer.name, stream.account, consumer.tags, request["Tags"])
    registry.save(changed(stream.state, consumers=with_tags(stream, consumer, tags)))
    return {}


def untag_resource(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    arn = request["ResourceARN"]
    if consumer_of(arn) is None:
        return remove_tags_from_stream(registry, {"StreamARN": arn, "TagKeys": request["TagKeys"]}, scope)
    stream, consumer = find_consumer(registry, {"ConsumerARN": arn}, scope)
    tags = remove_tags(consumer.name, stream.account, consumer.tags, request["TagKeys"])
    registry.save(changed(stream.state, consumers=with_tags(stream, consumer, tags)))
    return {}


def list_tags_for_resource(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    arn = request["ResourceARN"]
    if consumer_of(arn) is None:
        return {"Tags": _shape(registry.find({"StreamARN": arn}, scope).state.tags)}
    _, consumer = find_consumer(registry, {"ConsumerARN": arn}, scope)
    return {"Tags": _shape(consumer.tags)}


def _shape(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": tags[key]} for key in sorted(tags)]
