"""How far behind a shard's readers are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rdss_sandbox.shapes.readers import Reader
from rdss_sandbox.shapes.streams import StreamDetail

_LIVE_SECONDS = 60.0


def behind(readers: Iterable[Reader], now: float, streams: Iterable[StreamDetail] = ()) -> Mapping[str, int]:
    """How many records wait for the slowest reader, by ``stream/shard`` and added up by stream.

    Only who read within the last minute counts: an iterator that was taken and left falls behind for ever. In
    a shard without such a reader, what nobody has read waits, if anybody has read the stream.
    """
    read = [reader for reader in readers if reader.shard and live(reader, now)]
    attended = {f"{reader.stream}/{reader.shard}" for reader in read}
    shards = ((f"{stream.name}/{shard.id}", shard.unread) for stream in streams for shard in stream.shards)
    slowest = {key: count for key, count in shards if count is not None and key not in attended}
    for reader in read:
        key = f"{reader.stream}/{reader.shard}"
        slowest[key] = max(slowest.get(key, 0), reader.behind)
    for key, waiting in list(slowest.items()):
        stream, _, _ = key.partition("/")
        slowest[stream] = slowest.get(stream, 0) + waiting
    return slowest


def live(reader: Reader, now: float) -> bool:
    """Whether it is reading: subscribed, or by an iterator that was used within the last minute."""
    return reader.kind == "subscription" or (reader.reads > 0 and now - reader.seen < _LIVE_SECONDS)
