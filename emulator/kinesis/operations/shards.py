"""Resharding (splitting, merging, scaling), and listing shards with their lineage."""

from __future__ import annotations

from typing import Any

from emulator.kinesis import shard_ids
from emulator.kinesis.errors import invalid_argument, limit_exceeded, shard_not_found, validation
from emulator.kinesis.limits import SHARDS_BEFORE_RESHARDING, SHARDS_SCALED
from emulator.kinesis.page_tokens import page, read_page
from emulator.kinesis.scope import Scope, named
from emulator.kinesis.stream import Shard, Stream
from emulator.kinesis.stream_registry import Registry, changed
from emulator.kinesis.stream_state import Merge, Reshard, Scale, Split

_PAGE = 1000


def split_shard(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    require_number(request, "ShardToSplit", scope)
    stream = _find_reshardable(registry, request, scope)
    shard = stream.shard(request["ShardToSplit"])
    _require_open(stream, shard)
    at = int(request["NewStartingHashKey"])
    start, end = int(shard.state.starting_hash_key), int(shard.state.ending_hash_key)
    if not start + 1 < at < end:
        raise invalid_argument(
            f"NewStartingHashKey {at} used in SplitShard() on shard {shard.id} in stream {stream.name} under "
            f"account {stream.account} is not both greater than one plus the shard's StartingHashKey {start} "
            f"and less than the shard's EndingHashKey {end}."
        )
    registry.check_shard_quota(stream.state.scope, 1)
    _begin(registry, stream, Split(shard.id, str(at)))
    return {}


def merge_shards(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    require_number(request, "ShardToMerge", scope)
    require_number(request, "AdjacentShardToMerge", scope)
    stream = _find_reshardable(registry, request, scope)
    one, other = stream.shard(request["ShardToMerge"]), stream.shard(request["AdjacentShardToMerge"])
    for shard in (one, other):
        _require_open(stream, shard)
    low, high = sorted((one, other), key=lambda shard: int(shard.state.starting_hash_key))
    if int(low.state.ending_hash_key) + 1 != int(high.state.starting_hash_key):
        raise invalid_argument(
            f"Shards {one.id} and {other.id} in stream {stream.name} under account {stream.account} "
            "are not an adjacent pair of shards eligible for merging"
        )
    _begin(registry, stream, Merge(one.id, other.id))
    return {}


def update_shard_count(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = _find_reshardable(registry, request, scope)
    current, target = len(stream.open_shards), request["TargetShardCount"]
    registry.limits.scaling(stream, target, registry.clock.time())
    registry.check_shard_quota(stream.state.scope, target - current)
    answer = {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "CurrentShardCount": current,
        "TargetShardCount": target,
    }
    if target != current:
        if max(current, target) > SHARDS_SCALED:
            raise limit_exceeded(
                f"UpdateShardCount is limited to {SHARDS_SCALED} shards in this sandbox. Split or merge "
                "shards one by one, or create the stream with as many as it needs. "
                f"Current open shard count: {current} Target shard count: {target}"
            )
        # A day has room for ten, so older ones are never asked for.
        scalings = [*stream.state.scalings, registry.clock.time()][-10:]
        _begin(registry, stream, Scale(target), scalings=scalings)
    return answer


def list_shards(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    after = request.get("ExclusiveStartShardId", "")
    chosen = request.get("ShardFilter")
    if (token := request.get("NextToken")) is not None:
        for other in ("StreamName", "ExclusiveStartShardId", "StreamCreationTimestamp"):
            if request.get(other) is not None:
                raise invalid_argument(f"NextToken and {other} cannot be provided together.")
        name, after, chosen = read_page(token, registry.now_ms())
        stream = registry.named(name, scope)
    else:
        stream = registry.find(request, scope)
        stream.require_created(request.get("StreamCreationTimestamp"))
    registry.require_status(stream, "ACTIVE", "UPDATING")
    registry.expire_shards(stream)
    # Compared as text, so an id must have all of its digits.
    after = shard_ids.whole(after) or after
    limit = min(request.get("MaxResults", _PAGE), _PAGE)
    shards = [s for s in _select(stream, chosen, registry.now_ms()) if s.id > after]
    answer: dict[str, Any] = {"Shards": [shard.describe() for shard in shards[:limit]]}
    if len(shards) > limit:
        answer["NextToken"] = page(stream.name, shards[limit - 1].id, chosen, registry.now_ms())
    return answer


def require_number(request: dict[str, Any], member: str, scope: Scope) -> str:
    """The id in full of the shard that a member of the request names.

    Raises ResourceNotFoundException for one without a number, as AWS does before it looks for the stream.
    """
    shard_id = shard_ids.whole(request[member])
    if shard_id is None:
        account, name = named(request, scope)
        raise shard_not_found(request[member], name, account)
    return shard_id


def _find_reshardable(registry: Registry, request: dict[str, Any], scope: Scope) -> Stream:
    stream = registry.find_active(request, scope)
    if stream.state.mode == "ON_DEMAND":
        raise validation(
            f"Request is invalid. Stream {stream.name} under account {stream.account} is in On-Demand mode."
        )
    return stream


def _require_open(stream: Stream, shard: Shard) -> None:
    if not shard.is_open:
        raise invalid_argument(
            f"Shard {shard.id} in stream {stream.name} under account {stream.account} has already been "
            "merged or split, and thus is not eligible for merging or splitting."
        )


def _begin(registry: Registry, stream: Stream, reshard: Reshard, **fields: Any) -> None:
    """Reshard now, or at the end of a transition if streams have transitions.

    Readers are woken so that they learn when the stream gets its new shards. Raises LimitExceededException
    for a stream with very many shards.
    """
    registry.expire_shards(stream)
    if (shards := len(stream.shards)) > SHARDS_BEFORE_RESHARDING:
        raise limit_exceeded(
            f"Stream {stream.name} under account {stream.account} has {shards} shards, with those that are "
            f"closed. With more than {SHARDS_BEFORE_RESHARDING} it is not resharded until closed shards have "
            "passed their retention period."
        )
    if not registry.transition:
        registry.reshard(stream, reshard, registry.clock.time(), **fields)
        return
    registry.save(changed(stream.state, coming=reshard, **fields, **registry.updating()))
    registry.touch(stream, stream.open_shards)


def _select(stream: Stream, chosen: dict[str, Any] | None, now: int) -> list[Shard]:
    """The shards that a ShardFilter selects; without one, all that are within retention."""
    shards = list(stream.shards.values())
    kind = chosen["Type"] if chosen else "FROM_TRIM_HORIZON"
    horizon = stream.advance_horizon(now)
    if chosen is None or kind == "FROM_TRIM_HORIZON":
        return shards
    if kind == "AFTER_SHARD_ID":
        if "ShardId" not in chosen:
            raise invalid_argument("Must specify ShardId in ShardFilter when the type is AFTER_SHARD_ID.")
        after = shard_ids.whole(chosen["ShardId"])
        if after is None:
            raise shard_not_found(chosen["ShardId"], stream.name, stream.account)
        return [shard for shard in shards if shard.id > after]
    if kind == "AT_LATEST":
        return [shard for shard in shards if shard.is_open]
    if kind == "AT_TRIM_HORIZON":
        # Before the stream was made, none of its shards was open.
        return [shard for shard in shards if shard.was_open(max(horizon, int(stream.state.created * 1000)))]
    if "Timestamp" not in chosen:
        raise invalid_argument(f"Must specify Timestamp in ShardFilter when the type is {kind}.")
    at = max(int(chosen["Timestamp"] * 1000), horizon)
    if kind == "AT_TIMESTAMP":
        return [shard for shard in shards if shard.was_open(at)]
    return [shard for shard in shards if shard.state.closed is None or shard.state.closed >= at]
