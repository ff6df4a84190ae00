"""Streams as lanes: what of their shards and readers a page has room for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from emulator.kinesis import ShardView, StreamView
from emulator.kinesis.hash_keys import MAX_HASH_KEY
from rdss_sandbox.shapes.picture import ShardLane, ShardReader, StreamPicture
from rdss_sandbox.shapes.readers import Reader

HASH_KEYS: Final = MAX_HASH_KEY + 1
MOST_OPEN: Final = 32
MOST_CLOSED: Final = 32
MOST_READERS: Final = 64
_LIVE_SECONDS: Final = 60.0


def lay_out_stream(
    label: str, view: StreamView, readers: Iterable[ShardReader] | None, rate: float, *, aside: bool
) -> StreamPicture:
    """The stream with the lanes and readers that there is room for. ``readers`` is None where not known."""
    open_shards = [shard for shard in view.shards if shard.open]
    closed = [shard for shard in view.shards if not shard.open]
    chosen = [*closed[-MOST_CLOSED:], *open_shards[:MOST_OPEN]]
    ranked = sorted(readers or (), key=lambda reader: (not reader.live, -reader.behind, reader.shard or ""))
    unread = [shard.unread for shard in view.shards if shard.unread is not None]
    return StreamPicture(
        name=label,
        status=view.status,
        records=view.records,
        put=sum(shard.put for shard in view.shards),
        rate=rate,
        unread=sum(unread) if unread else None,
        lanes=tuple(sorted(map(_lay_out_lane, chosen), key=lambda lane: (lane.start, lane.id))),
        readers=tuple(ranked[:MOST_READERS]),
        readers_known=readers is not None,
        aside=aside,
        left_out_shards=len(view.shards) - len(chosen),
        left_out_readers=max(0, len(ranked) - MOST_READERS),
    )


def lay_out_readers(readers: Iterable[Reader], now: float) -> Iterator[ShardReader]:
    """The readers of a stream, with the name that each is known by."""
    for reader in readers:
        live = reader.kind == "subscription" or (reader.reads > 0 and now - reader.seen < _LIVE_SECONDS)
        name = reader.client or reader.consumer or "a reader"
        yield ShardReader(name, reader.shard, reader.behind, int(reader.late), live)


def _lay_out_lane(shard: ShardView) -> ShardLane:
    return ShardLane(
        shard.id,
        shard.parents,
        int(shard.starting_hash_key) / HASH_KEYS,
        (int(shard.ending_hash_key) + 1) / HASH_KEYS,
        shard.open,
        shard.records,
        shard.unread,
    )
