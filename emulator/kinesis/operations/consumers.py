"""Enhanced fan-out consumers, and their subscriptions to shards."""

from __future__ import annotations

from typing import Any

import msgspec

from emulator.kinesis.errors import in_use, invalid_argument, not_found
from emulator.kinesis.page_tokens import page, read_page
from emulator.kinesis.scope import Scope, consumer_of
from emulator.kinesis.stream import Stream
from emulator.kinesis.stream_registry import Registry, changed
from emulator.kinesis.stream_state import ConsumerState
from emulator.kinesis.tag_rules import add_tags

_PAGE = 100


def register_stream_consumer(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find_active(request, scope)
    name = request["ConsumerName"]
    if any(consumer.name == name for consumer in stream.state.consumers):
        raise in_use(f"Consumer {name} of stream {stream.arn} under account {stream.account} already exists.")
    registry.limits.new_consumer(stream, registry.clock.time())
    now = registry.clock.time()
    tags = add_tags(name, stream.account, {}, request.get("Tags") or {})
    consumer = ConsumerState(name, now, registry.settled_at(), tags=tags)
    registry.save(changed(stream.state, consumers=[*stream.state.consumers, consumer]))
    registry.events.emit("consumer.registered", stream=stream.name, consumer=name)
    return {"Consumer": _shape(registry, stream, consumer)}


def deregister_stream_consumer(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream, consumer = find_consumer(registry, request, scope)
    left = [other for other in stream.state.consumers if other is not consumer]
    policies = {
        arn: text for arn, text in stream.state.policies.items() if arn != consumer_arn(stream, consumer)
    }
    registry.save(changed(stream.state, consumers=left, policies=policies))
    registry.subscriptions.end(consumer_arn(stream, consumer))
    # Those who hold its subscriptions look again, and find that they have ended.
    registry.touch(stream, stream.shards.values())
    registry.events.emit("consumer.deregistered", stream=stream.name, consumer=consumer.name)
    return {}


def describe_stream_consumer(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream, consumer = find_consumer(registry, request, scope)
    return {"ConsumerDescription": _shape(registry, stream, consumer) | {"StreamARN": stream.arn}}


def list_stream_consumers(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find(request, scope)
    stream.require_created(request.get("StreamCreationTimestamp"))
    after, limit = "", min(request.get("MaxResults", _PAGE), _PAGE)
    if request.get("NextToken") is not None:
        _, after, _ = read_page(request["NextToken"], registry.now_ms())
    consumers = sorted((c for c in stream.state.consumers if c.name > after), key=lambda c: c.name)
    answer: dict[str, Any] = {"Consumers": [_shape(registry, stream, c) for c in consumers[:limit]]}
    if len(consumers) > limit:
        answer["NextToken"] = page(stream.name, consumers[limit - 1].name, None, registry.now_ms())
    return answer


def subscribe_to_shard(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    """Subscribe. The answer's ``EventStream`` is a ``Subscription``, from which events are pulled."""
    stream, consumer = find_consumer(registry, request, scope)
    position = request["StartingPosition"]
    arn = consumer_arn(stream, consumer)
    if registry.clock.time() < consumer.ready:
        raise in_use(f"Consumer {arn} under account {stream.account} not ACTIVE, instead in state CREATING")
    subscription = registry.subscriptions.subscribe(stream, arn, request["ShardId"], position)
    # Whoever held the subscription that this one took over learns of it.
    registry.touch(stream, [stream.shard(request["ShardId"])])
    return {"EventStream": subscription}


def find_consumer(registry: Registry, request: dict[str, Any], scope: Scope) -> tuple[Stream, ConsumerState]:
    """Find the consumer that a request names, by ConsumerARN or by StreamARN and ConsumerName."""
    arn, name, created = request.get("ConsumerARN"), request.get("ConsumerName"), None
    if arn is not None:
        parts = consumer_of(arn)
        if parts is None:
            raise invalid_argument(f"ConsumerARN {arn} is not valid.")
        name, created = parts.name, parts.created
        request = {"StreamARN": parts.stream_arn}
    elif name is None or request.get("StreamARN") is None:
        raise invalid_argument("Either ConsumerARN or both StreamARN and ConsumerName must be specified.")
    stream = registry.find(request, scope)
    for consumer in stream.state.consumers:
        if consumer.name == name and created in (None, int(consumer.created)):
            return stream, consumer
    raise not_found(f"Consumer {arn or name}, account {stream.account} not found.")


def consumer_arn(stream: Stream, consumer: ConsumerState) -> str:
    return f"{stream.arn}/consumer/{consumer.name}:{int(consumer.created)}"


def with_tags(stream: Stream, consumer: ConsumerState, tags: dict[str, str]) -> list[ConsumerState]:
    retagged = msgspec.structs.replace(consumer, tags=tags)
    return [retagged if other is consumer else other for other in stream.state.consumers]


def _shape(registry: Registry, stream: Stream, consumer: ConsumerState) -> dict[str, Any]:
    ready = registry.clock.time() >= consumer.ready
    return {
        "ConsumerName": consumer.name,
        "ConsumerARN": consumer_arn(stream, consumer),
        "ConsumerStatus": "ACTIVE" if ready else "CREATING",
        "ConsumerCreationTimestamp": consumer.created,
    }
