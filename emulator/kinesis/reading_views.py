"""The readers of a stream as the control API shows them: iterators, fan-out consumers, and their lag."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.kinesis import sequence_numbers
from emulator.kinesis.iterators import ShardIterator
from emulator.kinesis.operations.consumers import consumer_arn
from emulator.kinesis.reader_tracking import Reader
from emulator.kinesis.shard_subscriptions import Subscription
from emulator.kinesis.stream import Shard, Stream
from emulator.kinesis.stream_registry import Registry
from emulator.kinesis.stream_state import ConsumerState
from rdss_sandbox.shapes.readers import Reader as ReaderView


def reading_views(registry: Registry, stream: Stream) -> Iterator[ReaderView]:
    """The readers of a stream, those with iterators first. Callers have forgotten the expired ones."""
    now = registry.now_ms()
    by_index = {shard.state.index: shard for shard in stream.shards.values()}
    for iterator, reader in registry.readers.of(stream.state.number):
        if (shard := by_index.get(iterator.shard)) is not None:
            yield _by_iterator(stream, shard, iterator, reader, now)
    for consumer in stream.state.consumers:
        running = registry.subscriptions.running(consumer_arn(stream, consumer))
        if not running:
            created = consumer.created
            yield ReaderView(
                stream.name, "consumer", None, consumer.name, None, 0, 0.0, created, created, 0, 0
            )
        for subscription in running:
            yield _by_subscription(stream, consumer, subscription, registry.clock.elapsed(), now)


def _by_iterator(
    stream: Stream, shard: Shard, iterator: ShardIterator, reader: Reader, now: int
) -> ReaderView:
    return ReaderView(
        stream.name,
        "iterator",
        shard.id,
        None,
        *_lag(shard, iterator.ordinal, now),
        reader.began / 1000,
        iterator.created / 1000,
        reader.reads,
        reader.records,
    )


def _by_subscription(
    stream: Stream, consumer: ConsumerState, subscription: Subscription, elapsed: float, now: int
) -> ReaderView:
    shard = stream.shards[subscription.shard_id]
    # Its age is by elapsed, which no setting of the clock changes.
    began = now / 1000 - (elapsed - subscription.began)
    lag = _lag(shard, subscription.ordinal, now)
    return ReaderView(
        stream.name, "subscription", shard.id, consumer.name, *lag, began, now / 1000, 0, subscription.records
    )


def _lag(shard: Shard, ordinal: int, now: int) -> tuple[str, int, float]:
    """The ``position``, ``behind`` and ``late`` of a reader that reads ``ordinal`` next."""
    records = shard.records
    behind = records.count(ordinal)
    arrival = records.arrival_of(max(ordinal, records.first)) if behind else None
    passed = records.arrival_of(ordinal - 1) or shard.state.created
    position = sequence_numbers.number(shard.prefix, ordinal - 1, passed)
    return position, behind, max(0, now - arrival) / 1000 if arrival is not None else 0.0
