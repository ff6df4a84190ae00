"""What every channel does: in-process, through boto3, over a real RabbitMQ, and in each profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from emulator.channels.channel import Channel, ChannelUnavailableError, Delivery, PublishRefusedError, Receipt
from emulator.channels.checkpoints import SHARD_END, MemoryCheckpoints

if TYPE_CHECKING:
    from tests.emulator.faulted_brokers import AnyBroker

WAIT = 10.0


def read_all(channel: Channel, count: int) -> list[Delivery]:
    """At least ``count`` messages, and whatever else is there."""
    found: list[Delivery] = []
    while len(found) < count:
        more = channel.read(limit=1000, wait=WAIT)
        assert more, f"only {len(found)} of {count} messages came"
        found += more
    return found + channel.read(limit=1000)


def test_a_message_arrives_as_it_was_sent_with_the_receipt_of_its_place(broker: AnyBroker) -> None:
    """Bytes, key, shard and sequence number are those of the publisher's receipt."""
    broker.create()
    channel = broker.open()
    data = b"\x00\xff not JSON \xc3\xa9\r\n"
    receipt = channel.publish(data, "clé")
    (delivery,) = read_all(channel, 1)
    assert (delivery.data, delivery.key) == (data, "clé")
    assert Receipt(delivery.shard, delivery.sequence_number) == receipt
    assert delivery.arrived == pytest.approx(broker.clock.time(), abs=120)
    assert not delivery.redelivered


def test_messages_with_one_key_arrive_in_the_order_they_were_published(broker: AnyBroker) -> None:
    """Also when some went alone and some in a batch, and however many shards there are."""
    broker.create(shards=2)
    channel = broker.open()
    for number in range(3):
        channel.publish(b"%d" % number, "same")
    outcomes = channel.publish_many([(b"%d" % number, "same") for number in range(3, 40)])
    assert all(isinstance(outcome, Receipt) for outcome in outcomes)
    assert [int(delivery.data) for delivery in read_all(channel, 40)] == list(range(40))


def test_a_batch_tells_what_became_of_each_entry_in_order(broker: AnyBroker) -> None:
    """A thousand entries, more than one call to Kinesis takes, have a thousand outcomes in their places."""
    broker.create(shards=3)
    channel = broker.open()
    outcomes = channel.publish_many([(b"%d" % number, f"key {number}") for number in range(1000)])
    came = {(d.shard, d.sequence_number): int(d.data) for d in read_all(channel, 1000)}
    assert [came[(o.shard, o.sequence_number)] for o in outcomes if isinstance(o, Receipt)] == list(
        range(1000)
    )


def test_a_large_message_fits(broker: AnyBroker) -> None:
    """The specification's largest, 1,000,000 bytes, and Kinesis' megabyte."""
    broker.create()
    channel = broker.open()
    channel.publish(b"x" * 1_048_000, "k")
    (delivery,) = read_all(channel, 1)
    assert len(delivery.data) == 1_048_000


def test_an_empty_channel_gives_nothing(broker: AnyBroker) -> None:
    """Without an error, and a wait that ends."""
    broker.create()
    channel = broker.open()
    assert channel.read() == []
    assert channel.read(wait=0.2) == []


def test_no_more_than_the_limit_is_read_at_once(broker: AnyBroker) -> None:
    """And nothing is lost between two reads."""
    broker.create(shards=2)
    channel = broker.open()
    channel.publish_many([(b"%d" % number, f"{number}") for number in range(25)])
    reads = []
    while sum(map(len, reads)) < 25:
        reads.append(channel.read(limit=10, wait=WAIT))
        assert 0 < len(reads[-1]) <= 10
    assert sorted(int(d.data) for read in reads for d in read) == list(range(25))


def test_what_was_not_committed_comes_again_after_reopening(broker: AnyBroker) -> None:
    """At least once: a consumer that dies before it commits gets the message again, in order."""
    broker.create()
    checkpoints = MemoryCheckpoints()
    channel = broker.open(checkpoints)
    channel.publish_many([(b"%d" % number, "k") for number in range(5)])
    deliveries = read_all(channel, 5)
    channel.commit(deliveries[2])
    channel.close()
    again = read_all(broker.open(checkpoints), 2)
    assert [int(delivery.data) for delivery in again] == [3, 4]
    assert [d.sequence_number for d in again] == [d.sequence_number for d in deliveries[3:]]


def test_what_was_committed_does_not_come_again(broker: AnyBroker) -> None:
    """A commit counts for everything before it, and one for an earlier message takes nothing back."""
    broker.create()
    checkpoints = MemoryCheckpoints()
    channel = broker.open(checkpoints)
    channel.publish_many([(b"%d" % number, "k") for number in range(5)])
    deliveries = read_all(channel, 5)
    channel.commit(deliveries[4])
    channel.commit(deliveries[1])
    channel.close()
    assert broker.open(checkpoints).read(wait=0.3) == []


def test_a_commit_is_for_one_shard(stream_broker: AnyBroker) -> None:
    """Messages of other shards come again, whatever was committed in this one."""
    broker = stream_broker
    broker.create(shards=2)
    checkpoints = MemoryCheckpoints()
    channel = broker.open(checkpoints)
    channel.publish_many([(b"%d" % number, f"{number}") for number in range(20)])
    deliveries = read_all(channel, 20)
    done = deliveries[-1]
    channel.commit(done)
    others = {d.data for d in deliveries if d.shard != done.shard}
    assert others
    assert {d.data for d in read_all(broker.open(checkpoints), len(others))} == others


def lineage(broker: AnyBroker) -> dict[str, tuple[str, ...]]:
    names = ("ParentShardId", "AdjacentParentShardId")
    return {shard["ShardId"]: tuple(shard[n] for n in names if n in shard) for shard in broker.shards()}


def reshard_under_load(broker: AnyBroker, channel: Channel) -> int:
    """Publish, split, publish, merge, publish; how many messages went."""
    sent = 0

    def publish() -> None:
        nonlocal sent
        channel.publish_many([(b"%d" % (sent + n), f"key {n % 7}") for n in range(50)])
        sent += 50

    publish()
    broker.split("shardId-000000000000", 2**126)
    publish()
    broker.split("shardId-000000000001", 2**127 + 2**126)
    publish()
    broker.call(
        "MergeShards", ShardToMerge="shardId-000000000003", AdjacentShardToMerge="shardId-000000000004"
    )
    publish()
    return sent


def test_a_reshard_loses_nothing_and_keeps_the_order_of_a_key(stream_broker: AnyBroker) -> None:
    """Children are read only after all their parents are drained, so a key's messages stay in order."""
    broker = stream_broker
    broker.create(shards=2)
    channel = broker.open()
    sent = reshard_under_load(broker, channel)
    came = read_all(channel, sent)
    assert sorted(int(d.data) for d in came) == list(range(sent))
    for key in {d.key for d in came}:
        numbers = [int(d.data) for d in came if d.key == key]
        assert numbers == sorted(numbers)
    parents = lineage(broker)
    first = {
        shard: min(at for at, d in enumerate(came) if d.shard == shard) for shard in {d.shard for d in came}
    }
    last = {shard: max(at for at, d in enumerate(came) if d.shard == shard) for shard in first}
    assert any(parents[shard] for shard in first), "no child was read: nothing was shown"
    assert all(last.get(parent, -1) < first[shard] for shard in first for parent in parents[shard])


@pytest.mark.parametrize("committed", [0, 30, 120])
def test_reading_goes_on_across_a_reshard_after_reopening(stream_broker: AnyBroker, committed: int) -> None:
    """With drained parents left behind, and what was not committed read again."""
    broker = stream_broker
    broker.create(shards=2)
    checkpoints = MemoryCheckpoints()
    channel = broker.open(checkpoints)
    sent = reshard_under_load(broker, channel)
    seen = set()
    while len(seen) < committed:
        for delivery in channel.read(limit=10, wait=WAIT):
            seen.add(int(delivery.data))
            channel.commit(delivery)
    channel.read(limit=25)
    channel.close()
    rest = read_all(broker.open(checkpoints), sent - len(seen))
    assert sorted(seen | {int(d.data) for d in rest}) == list(range(sent))
    assert not seen & {int(d.data) for d in rest}


def test_a_drained_and_committed_parent_is_finished_with(stream_broker: AnyBroker) -> None:
    """Its checkpoint says SHARD_END, the open children's say how far they are."""
    broker = stream_broker
    broker.create(shards=1)
    checkpoints = MemoryCheckpoints()
    channel = broker.open(checkpoints)
    channel.publish(b"1", "k")
    broker.split("shardId-000000000000", 2**127)
    channel.publish(b"2", "k")
    for delivery in read_all(channel, 2):
        channel.commit(delivery)
    assert checkpoints.get("shardId-000000000000") == SHARD_END
    (child,) = {checkpoints.get("shardId-000000000001"), checkpoints.get("shardId-000000000002")} - {None}
    assert child is not None
    assert child.isdecimal()


def test_a_stream_that_is_not_there_is_a_refusal(stream_broker: AnyBroker) -> None:
    """Definite for the publisher, with Kinesis' code; the reader is told that the channel is unavailable."""
    channel = stream_broker.open()
    with pytest.raises(PublishRefusedError) as refused:
        channel.publish(b"x", "k")
    assert refused.value.code == "ResourceNotFoundException"
    (outcome,) = channel.publish_many([(b"x", "k")])
    assert isinstance(outcome, PublishRefusedError)
    with pytest.raises(ChannelUnavailableError, match=stream_broker.name):
        channel.read()


def test_a_reader_that_was_away_for_an_hour_goes_on(stream_broker: AnyBroker) -> None:
    """Its iterators have expired; it takes new ones behind what it read last."""
    broker = stream_broker
    broker.create()
    channel = broker.open()
    channel.publish(b"1", "k")
    assert [d.data for d in read_all(channel, 1)] == [b"1"]
    broker.clock.advance(3600)
    channel.publish(b"2", "k")
    assert [d.data for d in read_all(channel, 1)] == [b"2"]
