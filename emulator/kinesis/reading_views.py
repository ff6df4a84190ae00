"""Who reads a stream, for people: iterators, fan-out consumers, and how far behind each of them is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from emulator.kinesis import sequence_numbers
from emulator.kinesis.iterators import ShardIterator
from emulator.kinesis.operations.consumers import consumer_arn
from emulator.kinesis.readers import Reader
from emulator.kinesis.registry import Registry
from emulator.kinesis.state import ConsumerState
from emulator.kinesis.stream import Shard, Stream
from emulator.kinesis.subscriptions import Subscription


class ReaderView(NamedTuple):
    """Somebody who reads: by ``iterator``, by ``subscription``, or a ``consumer`` that is only registered.

    ``position`` is the number of the last record passed, ``behind`` counts those that wait, ``late`` is how
    long the oldest of them has waited in seconds; ``began`` and ``seen`` (first and last heard of) are in
    seconds since the epoch.
    """

    kind: Literal["iterator", "subscription", "consumer"]
    shard: str | None
    consumer: str | None
    position: str | None
    behind: int
    late: float
    began: float
    seen: float
    reads: int
    records: int


def reading_views(registry: Registry, stream: Stream) -> Iterator[ReaderView]:
    """Everybody who reads a stream, those with iterators first."""
    now = registry.now_ms()
    by_index = {shard.state.index: shard for shard in stream.shards.values()}
    for iterator, reader in registry.readers.of(stream.state.number, now):
        if (shard := by_index.get(iterator.shard)) is not None:
            yield _by_iterator(shard, iterator, reader, now)
    for consumer in stream.state.consumers:
        running = registry.subscriptions.running(consumer_arn(stream, consumer))
        if not running:
            created = consumer.created
            yield ReaderView("consumer", None, consumer.name, None, 0, 0.0, created, created, 0, 0)
        for subscription in running:
            shard = stream.shards[subscription.shard_id]
            yield _by_subscription(shard, consumer, subscription, registry.clock.elapsed(), now)


def _by_iterator(shard: Shard, iterator: ShardIterator, reader: Reader, now: int) -> ReaderView:
    return ReaderView(
        "iterator",
        shard.id,
        None,
        *_place(shard, iterator.ordinal, now),
        reader.began / 1000,
        iterator.created / 1000,
        reader.reads,
        reader.records,
    )


def _by_subscription(
    shard: Shard, consumer: ConsumerState, subscription: Subscription, elapsed: float, now: int
) -> ReaderView:
    began = now / 1000 - (elapsed - subscription.began)
    place = _place(shard, subscription.ordinal, now)
    return ReaderView(
        "subscription", shard.id, consumer.name, *place, began, now / 1000, 0, subscription.records
    )


def _place(shard: Shard, ordinal: int, now: int) -> tuple[str, int, float]:
    """Position, records behind, seconds late of who reads ``ordinal`` next."""
    records = shard.records
    behind = records.count(ordinal)
    arrival = records.arrival_of(max(ordinal, records.first)) if behind else None
    passed = records.arrival_of(ordinal - 1) or shard.state.created
    position = sequence_numbers.number(shard.prefix, ordinal - 1, passed)
    return position, behind, max(0, now - arrival) / 1000 if arrival is not None else 0.0
