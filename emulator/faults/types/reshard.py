"""Shards split, merged or scaled while messages pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from emulator.faults.fault import (
    STREAMS,
    Attribute,
    Control,
    Direction,
    Done,
    FaultRefusedError,
    FaultType,
    Hit,
    Phase,
)
from emulator.kinesis.errors import KinesisError

_TRIES = 50
_PAUSE = 0.2

_Shard = dict[str, Any]


def inject(hit: Hit) -> Done:
    if hit.environment.control is None:
        raise FaultRefusedError("reshard: no stream backend is attached that could do it")
    stream = hit.call.channel
    do = {"split": _split, "merge": _merge, "scale": _scale}[hit.attributes["action"]]
    done = do(stream, hit.attributes, _retry_while_busy(hit.environment.control, hit.environment.clock.wait))
    return Done(f"{stream}: {done.did}", {"action": hit.attributes["action"], **done.data})


def check(attributes: Mapping[str, Any], _direction: Direction) -> None:
    if attributes["action"] == "scale" and attributes["count"] < 1:
        raise FaultRefusedError(
            f"reshard: attribute count is {attributes['count']}: give the shards to scale to, from 1"
        )
    if attributes["hash_key"] and not (attributes["hash_key"].isascii() and attributes["hash_key"].isdigit()):
        raise FaultRefusedError(
            f"reshard: attribute hash_key is {attributes['hash_key']!r}: give a decimal number"
        )


def _split(stream: str, attributes: Mapping[str, Any], control: Control) -> Done:
    shards = _list_open_shards(stream, control)
    shard = _find_open_shard(shards, attributes["shard"]) if attributes["shard"] else max(shards, key=_width)
    low, high = _hash_key_range(shard)
    key = attributes["hash_key"] or str((low + high + 1) // 2)
    control("SplitShard", {"StreamName": stream, "ShardToSplit": shard["ShardId"], "NewStartingHashKey": key})
    return Done(f"split {shard['ShardId']} at {key}", {"shard": shard["ShardId"], "hash_key": key})


def _merge(stream: str, attributes: Mapping[str, Any], control: Control) -> Done:
    shards = sorted(_list_open_shards(stream, control), key=_hash_key_range)
    pairs = [(a, b) for a, b in pairwise(shards) if _hash_key_range(a)[1] + 1 == _hash_key_range(b)[0]]
    if attributes["shard"]:
        pairs = [pair for pair in pairs if attributes["shard"] in {shard["ShardId"] for shard in pair}]
    if not pairs:
        raise FaultRefusedError(f"reshard: {stream} has no two adjacent open shards to merge")
    left, right = min(pairs, key=lambda pair: _width(pair[0]) + _width(pair[1]))
    names = left["ShardId"], right["ShardId"]
    control("MergeShards", {"StreamName": stream, "ShardToMerge": names[0], "AdjacentShardToMerge": names[1]})
    return Done(f"merged {names[0]} and {names[1]}", {"shard": names[0], "adjacent": names[1]})


def _scale(stream: str, attributes: Mapping[str, Any], control: Control) -> Done:
    count = attributes["count"]
    control(
        "UpdateShardCount",
        {"StreamName": stream, "TargetShardCount": count, "ScalingType": "UNIFORM_SCALING"},
    )
    return Done(f"scaled to {count} shards", {"count": count})


def _list_open_shards(stream: str, control: Control) -> list[_Shard]:
    response = control("ListShards", {"StreamName": stream})
    shards: list[_Shard] = list(response["Shards"])
    while token := response.get("NextToken"):
        response = control("ListShards", {"NextToken": token})
        shards += response["Shards"]
    return [shard for shard in shards if not shard["SequenceNumberRange"].get("EndingSequenceNumber")]


def _find_open_shard(shards: list[_Shard], name: str) -> _Shard:
    for shard in shards:
        if shard["ShardId"] == name:
            return shard
    raise FaultRefusedError(
        f"reshard: {name} is not an open shard; open are {', '.join(s['ShardId'] for s in shards)}"
    )


def _hash_key_range(shard: _Shard) -> tuple[int, int]:
    found = shard["HashKeyRange"]
    return int(found["StartingHashKey"]), int(found["EndingHashKey"])


def _width(shard: _Shard) -> int:
    low, high = _hash_key_range(shard)
    return high - low


def _retry_while_busy(control: Control, wait: Callable[[float], object]) -> Control:
    """Wrap ``control`` so that it retries while the stream is still busy with an earlier reshard."""

    def ask(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        for _ in range(_TRIES):
            try:
                return control(operation, request)
            except KinesisError as error:
                if error.code != "ResourceInUseException":
                    raise
                wait(_PAUSE)
        # Once more, so that its error is told.
        return control(operation, request)

    return ask


TYPE = FaultType(
    "reshard",
    "Shards split, merge, or scale to a number while messages pass: at the messages that its conditions "
    "choose, or, without any, at once or at a time.",
    Phase.CONTROL,
    (Direction.CONTROL,),
    inject,
    (
        Attribute("action", "choice", "split", "what to do", choices=("split", "merge", "scale")),
        Attribute(
            "shard", "text", "", "the shard; by default the widest to split, or the narrowest pair to merge"
        ),
        Attribute(
            "hash_key", "text", "", "the hash key at which to split; by default the middle", longest=39
        ),
        Attribute("count", "integer", 0, "how many shards to scale to", "shards", most=10_000),
    ),
    kinds=STREAMS,
    check=check,
)
