"""Resource policies of streams and consumers. They are kept and returned, and not enforced."""

from __future__ import annotations

from typing import Any

import msgspec

from emulator.kinesis.errors import invalid_argument, not_found
from emulator.kinesis.operations.consumers import find_consumer
from emulator.kinesis.scope import Scope, consumer_of
from emulator.kinesis.stream import Stream
from emulator.kinesis.stream_registry import Registry, changed


def put_resource_policy(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream, arn = _resource(registry, request, scope)
    try:
        msgspec.json.decode(request["Policy"], type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise invalid_argument(f"The policy is not a JSON object: {error}") from error
    registry.save(changed(stream.state, policies=stream.state.policies | {arn: request["Policy"]}))
    return {}


def get_resource_policy(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream, arn = _resource(registry, request, scope)
    return {"Policy": stream.state.policies.get(arn, "{}")}


def delete_resource_policy(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream, arn = _resource(registry, request, scope)
    if arn not in stream.state.policies:
        raise not_found(f"No resource policy found for resource ARN {arn}")
    left = {other: text for other, text in stream.state.policies.items() if other != arn}
    registry.save(changed(stream.state, policies=left))
    return {}


def _resource(registry: Registry, request: dict[str, Any], scope: Scope) -> tuple[Stream, str]:
    arn: str = request["ResourceARN"]
    if consumer_of(arn) is not None:
        return find_consumer(registry, {"ConsumerARN": arn}, scope)[0], arn
    return registry.find({"StreamARN": arn}, scope), arn
