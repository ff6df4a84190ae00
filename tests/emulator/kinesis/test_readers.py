"""Who reads a stream, as far as their iterators and subscriptions tell."""

from __future__ import annotations

from tests.emulator.kinesis.engine_calls import NOON, SCOPE, Api


def test_a_reader_is_followed_from_iterator_to_iterator(api: Api) -> None:
    """However often it reads it is one reader; position, records behind and lateness are those of now."""
    api.create()
    numbers = [api.put(bytes([n]))["SequenceNumber"] for n in range(3)]
    iterator = api.iterator()
    api.clock.advance(4)

    (waiting,) = api.engine.readers("s", SCOPE)
    assert (waiting.kind, waiting.shard, waiting.behind, waiting.late) == (
        "iterator",
        "shardId-000000000000",
        3,
        4.0,
    )
    assert (waiting.began, waiting.seen, waiting.reads) == (NOON, NOON, 0)

    iterator = api.get(iterator, Limit=2)["NextShardIterator"]
    (reading,) = api.engine.readers("s", SCOPE)
    assert (reading.position, reading.behind, reading.reads, reading.records) == (numbers[1], 1, 1, 2)
    assert (reading.began, reading.seen) == (NOON, NOON + 4)

    api.get(iterator)
    (there,) = api.engine.readers("s", SCOPE)
    assert (there.position, there.behind, there.late, there.reads, there.records) == (numbers[2], 0, 0, 2, 3)


def test_the_fast_path_follows_readers_too(api: Api) -> None:
    """GetRecords from bytes to bytes counts as any other."""
    api.create()
    api.put()
    api.engine.get_records_json(f'{{"ShardIterator":"{api.iterator()}"}}'.encode(), SCOPE)
    (reader,) = api.engine.readers("s", SCOPE)
    assert (reader.behind, reader.reads, reader.records) == (0, 1, 1)


def test_a_reader_is_gone_when_its_iterator_is(api: Api) -> None:
    """At the end of a closed shard at once, else when the iterator expires; another stream's never counts."""
    api.create()
    api.create("other")
    api.iterator(name="other")
    last = api.iterator()
    idle = api.iterator(kind="LATEST")
    api("SplitShard", StreamName="s", ShardToSplit="shardId-000000000000", NewStartingHashKey=str(2**127))
    api.get(last)
    assert idle == last or len(api.engine.readers("s", SCOPE)) == 1
    api.clock.advance(301)
    assert api.engine.readers("s", SCOPE) == []
    assert api.engine.readers("other", SCOPE) == []


def test_consumers_show_their_subscriptions(api: Api) -> None:
    """A registered consumer is there before it subscribes, then once for each shard that it reads."""
    api.create()
    arn = api("DescribeStreamSummary", StreamName="s")["StreamDescriptionSummary"]["StreamARN"]
    consumer = api("RegisterStreamConsumer", StreamARN=arn, ConsumerName="fan")["Consumer"]
    (registered,) = api.engine.readers("s", SCOPE)
    assert (registered.kind, registered.consumer, registered.shard) == ("consumer", "fan", None)

    api.put()
    subscription = api.engine.subscribe(
        consumer["ConsumerARN"], "shardId-000000000000", {"Type": "TRIM_HORIZON"}, SCOPE
    )
    (waiting,) = api.engine.readers("s", SCOPE)
    assert (waiting.kind, waiting.consumer, waiting.behind) == ("subscription", "fan", 1)
    subscription.next_batch()
    (reading,) = api.engine.readers("s", SCOPE)
    assert (reading.behind, reading.records) == (0, 1)
    subscription.close()
    (left,) = api.engine.readers("s", SCOPE)
    assert left.kind == "consumer"


def test_looking_at_one_record_counts_no_reader(api: Api) -> None:
    """The sandbox reads a record for its own screens without being taken for a client."""
    api.create()
    first = api.put(b"one")["SequenceNumber"]
    second = api.put(b"two")["SequenceNumber"]
    assert api.engine.at("s", "shardId-000000000000", first, SCOPE) == b"one"
    assert api.engine.at("s", "shardId-000000000000", second, SCOPE) == b"two"
    assert api.engine.at("s", "shardId-000000000000", "4959", SCOPE) is None
    assert api.engine.readers("s", SCOPE) == []
