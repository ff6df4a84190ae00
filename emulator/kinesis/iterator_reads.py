"""GetRecords, for both of its paths: the place of an iterator, what is read there, the iterator to go on."""

from __future__ import annotations

from typing import NamedTuple

from emulator.kinesis import iterators, shard_ids
from emulator.kinesis.errors import invalid_argument, not_found, shard_not_found
from emulator.kinesis.iterators import ShardIterator
from emulator.kinesis.reads import FetchedLines, fetch
from emulator.kinesis.scope import Scope
from emulator.kinesis.stream import Shard, Stream
from emulator.kinesis.stream_registry import Registry

DEFAULT_LIMIT = 10_000


class Located(NamedTuple):
    """A shard iterator, with the stream and the shard that it is for."""

    stream: Stream
    shard: Shard
    iterator: ShardIterator


def locate(registry: Registry, token: str, stream_arn: str | None, scope: Scope) -> Located:
    """Find the place that a shard iterator is for.

    Raises InvalidArgumentException, ExpiredIteratorException and ResourceNotFoundException.
    """
    found = iterators.read(token, registry.now_ms())
    stream = registry.numbered(found.stream)
    if stream is None or stream.status(registry.clock.time()) == "DELETING":
        raise not_found(f"The stream of this ShardIterator under account {scope.account} not found.")
    if stream_arn not in (None, stream.arn):
        raise invalid_argument(f"The ShardIterator is not for the stream {stream_arn}.")
    shard_id = shard_ids.of_number(found.shard)
    shard = stream.shards.get(shard_id)
    if shard is None:
        raise shard_not_found(shard_id, stream.name, stream.account)
    return Located(stream, shard, found)


def read_on(
    registry: Registry, located: Located, limit: int | None
) -> tuple[FetchedLines, ShardIterator | None]:
    """Read from an iterator on; the one that follows, None at the shard's end, and its reader goes there.

    Raises ProvisionedThroughputExceededException.
    """
    stream, shard, used = located
    registry.limits.read(stream, shard)
    now = registry.now_ms()
    fetched = fetch(stream, shard, used.ordinal, now, limit=limit or DEFAULT_LIMIT)
    registry.limits.delivered(shard, sum(map(len, fetched.parts)))
    following = None
    if fetched.next is not None:
        # A token has no place for a time before 1970, to which the clock may be set.
        following = used._replace(ordinal=fetched.next, created=max(0, now))
    shard.note_read(used.ordinal, fetched.reached)
    registry.readers.go_on(used, following, fetched.lines)
    return fetched, following
