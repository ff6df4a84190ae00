"""The lag of readers: the number of records that they have not read yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rdss_sandbox.shapes.readers import Reader
from rdss_sandbox.shapes.streams import StreamDetail

_LIVE_SECONDS = 60.0


def behind(readers: Iterable[Reader], now: float, streams: Iterable[StreamDetail] = ()) -> Mapping[str, int]:
    """The lag of the slowest live reader in records, by ``stream/shard`` and summed up by stream.

    A reader counts if it read within the last minute; an abandoned iterator falls behind for ever. Records
    that nobody has read count too, where the stream had a reader at all: those of a shard without a live
    reader, and those that a reader passed over.
    """
    read = [reader for reader in readers if reader.shard and live(reader, now)]
    shards = ((f"{stream.name}/{shard.id}", shard.unread) for stream in streams for shard in stream.shards)
    slowest = {key: count for key, count in shards if count is not None}
    for reader in read:
        key = f"{reader.stream}/{reader.shard}"
        slowest[key] = max(slowest.get(key, 0), reader.behind)
    for key, waiting in list(slowest.items()):
        stream, _, _ = key.partition("/")
        slowest[stream] = slowest.get(stream, 0) + waiting
    return slowest


def live(reader: Reader, now: float) -> bool:
    """Whether the reader is subscribed, or used its iterator within the last minute."""
    return reader.kind == "subscription" or (reader.reads > 0 and now - reader.seen < _LIVE_SECONDS)
