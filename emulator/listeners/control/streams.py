"""Streams and their shards: list, show and reshard them."""

from __future__ import annotations

from http import HTTPStatus
from itertools import pairwise
from typing import Any

from emulator.kinesis import StreamView
from emulator.listeners.aws.request_validation import check
from emulator.listeners.aws.service_model import kinesis_model
from emulator.listeners.control.endpoint_routing import ApiError, handles
from emulator.streams.stream_catalogue import Catalogue, ListedStream
from emulator.streams.stream_service import StreamService
from rdss_sandbox.api.streams import Streams
from rdss_sandbox.shapes.streams import Reshard, Shard, Stream, StreamDetail, StreamList


class StreamResources:
    """``/streams``."""

    def __init__(self, streams: StreamService, catalogue: Catalogue) -> None:
        self._streams = streams
        self._catalogue = catalogue

    @handles(Streams.streams)
    def streams(self) -> StreamList:
        return StreamList(summarise_streams(self._catalogue))

    @handles(Streams.stream)
    def stream(self, name: str) -> StreamDetail:
        return _build_detail(self._find(name))

    @handles(Streams.reshard)
    def reshard(self, name: str, change: Reshard) -> StreamDetail:
        listed = self._find(name)
        operation, request = _build_operation(change, listed)
        request["StreamName"] = listed.view.name
        check(request, kinesis_model().operations[operation].request)
        self._streams.call(operation, request, listed.scope)
        return _build_detail(self._find(name))

    def _find(self, name: str) -> ListedStream:
        listed = self._catalogue.find(name)
        if listed is None:
            names = ", ".join(listed.label for listed in self._catalogue.list_streams()) or "none"
            message = f"no stream is named {name!r}; there are: {names}"
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_stream", message)
        return listed


def summarise_streams(catalogue: Catalogue) -> tuple[Stream, ...]:
    return tuple(Stream(**_summarise(listed)) for listed in catalogue.list_streams())


def count_unread(view: StreamView) -> int | None:
    """Count the records of a stream that no reader has passed; None where it was never read."""
    counted = [shard.unread for shard in view.shards if shard.unread is not None]
    return sum(counted) if counted else None


def _summarise(listed: ListedStream) -> dict[str, Any]:
    view = listed.view
    open_shards = sum(shard.open for shard in view.shards)
    return {
        "name": listed.label,
        "arn": view.arn,
        "status": view.status,
        "open_shards": open_shards,
        "closed_shards": len(view.shards) - open_shards,
        "records": view.records,
        "bytes": view.bytes,
        "unread": count_unread(view),
    }


def _build_detail(listed: ListedStream) -> StreamDetail:
    return StreamDetail(**_summarise(listed), shards=tuple(listed.view.shards))


def _build_operation(change: Reshard, listed: ListedStream) -> tuple[str, dict[str, Any]]:
    """The Kinesis operation of a reshard, and its request without the stream."""
    shards = sorted(
        (shard for shard in listed.view.shards if shard.open), key=lambda shard: int(shard.starting_hash_key)
    )
    match change.action:
        case "scale":
            if change.count is None:
                raise ApiError(
                    HTTPStatus.BAD_REQUEST, "bad_reshard", "to scale, say to how many shards: count"
                )
            return "UpdateShardCount", {
                "TargetShardCount": change.count,
                "ScalingType": "UNIFORM_SCALING",
            }
        case "split":
            shard = _find_open_shard(change.shard, shards) if change.shard else max(shards, key=_width)
            return "SplitShard", {
                "ShardToSplit": shard.id,
                "NewStartingHashKey": _choose_hash_key(change, shard),
            }
        case "merge":
            shard, adjacent = _choose_pair(change, shards)
            return "MergeShards", {"ShardToMerge": shard.id, "AdjacentShardToMerge": adjacent.id}


def _choose_hash_key(change: Reshard, shard: Shard) -> str:
    if change.hash_key is not None:
        return change.hash_key
    low, high = int(shard.starting_hash_key), int(shard.ending_hash_key)
    if low == high:
        message = f"shard {shard.id} holds a single hash key and cannot be split"
        raise ApiError(HTTPStatus.BAD_REQUEST, "bad_reshard", message)
    return str((low + high + 1) // 2)


def _choose_pair(change: Reshard, shards: list[Shard]) -> tuple[Shard, Shard]:
    pairs = list(pairwise(shards))
    ids = {_find_open_shard(name, shards).id for name in (change.shard, change.adjacent) if name}
    fitting = [pair for pair in pairs if ids <= {pair[0].id, pair[1].id}]
    if not fitting:
        why = "there is only one open shard" if not pairs else f"{' and '.join(sorted(ids))} are not adjacent"
        raise ApiError(HTTPStatus.BAD_REQUEST, "bad_reshard", f"nothing to merge: {why}")
    return min(fitting, key=lambda pair: _width(pair[0]) + _width(pair[1]))


def _find_open_shard(shard_id: str, shards: list[Shard]) -> Shard:
    """The open shard with this id, or with this number at the end of its id."""
    for shard in shards:
        if shard_id == shard.id or (
            shard_id.isdecimal() and int(shard_id) == int(shard.id.rpartition("-")[2])
        ):
            return shard
    known = ", ".join(shard.id for shard in shards)
    message = f"no open shard is named {shard_id!r}; there are: {known}"
    raise ApiError(HTTPStatus.NOT_FOUND, "no_such_shard", message)


def _width(shard: Shard) -> int:
    return int(shard.ending_hash_key) - int(shard.starting_hash_key)
