"""The present state of streams and their shards."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from emulator.kinesis.stream import Shard, Stream
from emulator.kinesis.stream_registry import Registry
from rdss_sandbox.shapes.streams import Shard as ShardView


class StreamView(NamedTuple):
    """A stream. ``generation`` differs from that of earlier streams with the same name."""

    name: str
    arn: str
    status: str
    shards: list[ShardView]
    records: int
    bytes: int
    generation: str


def view(registry: Registry, stream: Stream) -> StreamView:
    """The stream's present state. Callers call ``Registry.forget_expired`` first."""
    shards = [_shard_view(stream, shard) for shard in stream.shards.values()]
    if any(shard.read is not None for shard in stream.shards.values()):
        shards = [
            msgspec.structs.replace(view_of_shard, unread=0 if shard.unused else _count_unread(shard))
            for view_of_shard, shard in zip(shards, stream.shards.values(), strict=True)
        ]
    return StreamView(
        name=stream.name,
        arn=stream.arn,
        status=stream.status(registry.clock.time()),
        shards=shards,
        records=sum(shard.records for shard in shards),
        bytes=sum(shard.bytes for shard in shards),
        generation=f"{stream.state.number:09d}",
    )


def _count_unread(shard: Shard) -> int:
    records = shard.records
    if shard.read is None:
        return records.count(records.first)
    # A range is not as long as it has records: loading a snapshot leaps over numbers.
    unread = shard.read.list_unread(records.first, records.next)
    return sum(records.count(start) - records.count(end) for start, end in unread)


def _shard_view(stream: Stream, shard: Shard) -> ShardView:
    state = shard.state
    records = None if shard.unused else shard.records
    return ShardView(
        id=shard.id,
        parents=tuple(parent for parent in (state.parent, state.adjacent_parent) if parent),
        children=tuple(child.id for child in stream.children(shard)),
        starting_hash_key=state.starting_hash_key,
        ending_hash_key=state.ending_hash_key,
        starting_sequence_number=shard.starting_sequence_number(),
        ending_sequence_number=state.ending_sequence_number,
        open=shard.is_open,
        records=records.count(records.first) if records is not None else 0,
        bytes=records.size if records is not None else 0,
        created=state.created / 1000,
        put=records.total if records is not None else 0,
    )
