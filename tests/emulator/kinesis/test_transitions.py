"""Streams that take their time to be made, resharded and deleted, as AWS's do, on the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.emulator.kinesis.engine_calls import SCOPE, Api

ZERO, ONE, TWO = (f"shardId-{i:012d}" for i in range(3))
IN_STATE = "Stream s under account 000000000000 not ACTIVE, instead in state "
SPLIT = {"StreamName": "s", "ShardToSplit": ZERO, "NewStartingHashKey": "1000"}


@pytest.fixture
def slow(engines: Callable[..., Api]) -> Iterator[Api]:
    """An engine whose transitions last half a minute."""
    return engines(transition_seconds=30)


def active(api: Api, shards: int = 1) -> Api:
    api.create(shards=shards)
    api.clock.advance(30)
    return api


def described(api: Api) -> dict[str, Any]:
    answer: dict[str, Any] = api("DescribeStream", StreamName="s")["StreamDescription"]
    return answer


def state(api: Api) -> tuple[str, list[str]]:
    """The stream's status and its shards."""
    found = described(api)
    return found["StreamStatus"], [shard["ShardId"] for shard in found["Shards"]]


def summary(api: Api) -> tuple[str, int]:
    found = api("DescribeStreamSummary", StreamName="s")["StreamDescriptionSummary"]
    return found["StreamStatus"], found["OpenShardCount"]


def test_a_stream_that_is_created_has_no_shards_yet(slow: Api) -> None:
    """They are hidden, cannot be listed, read or written, until it is ACTIVE; a restart changes nothing."""
    slow.create(shards=2)
    slow.clock.advance(29.9)
    slow.restart()

    assert state(slow) == ("CREATING", [])
    assert summary(slow) == ("CREATING", 0)
    assert slow("ListStreams")["StreamSummaries"][0]["StreamStatus"] == "CREATING"
    record = {"StreamName": "s", "Data": b"", "PartitionKey": "k"}
    place = {"StreamName": "s", "ShardId": ZERO, "ShardIteratorType": "LATEST"}
    slow.refuses("ResourceNotFoundException", "Stream s under account .* not found", "PutRecord", **record)
    slow.refuses("ResourceNotFoundException", f"Shard {ZERO} .* does not exist", "GetShardIterator", **place)
    for operation, request in (
        ("ListShards", {"StreamName": "s"}),
        ("SplitShard", SPLIT),
        ("RegisterStreamConsumer", {"StreamARN": slow.arn, "ConsumerName": "c"}),
        ("IncreaseStreamRetentionPeriod", {"StreamName": "s", "RetentionPeriodHours": 48}),
    ):
        slow.refuses("ResourceInUseException", f"{IN_STATE}CREATING", operation, **request)
    slow.refuses("ResourceInUseException", "already exists", "CreateStream", StreamName="s", ShardCount=1)
    slow("AddTagsToStream", StreamName="s", Tags={"k": "v"})

    slow.clock.advance(0.2)
    assert state(slow) == ("ACTIVE", [ZERO, ONE])
    assert summary(slow) == ("ACTIVE", 2)
    slow.put()


@pytest.mark.parametrize(
    ("operation", "request_", "opened"),
    [
        ("SplitShard", SPLIT, 2),
        ("MergeShards", {"StreamName": "s", "ShardToMerge": ZERO, "AdjacentShardToMerge": ONE}, 1),
        (
            "UpdateShardCount",
            {"StreamName": "s", "TargetShardCount": 4, "ScalingType": "UNIFORM_SCALING"},
            4,
        ),
    ],
)
def test_a_stream_that_is_updated_keeps_its_shards_until_it_is_done(
    slow: Api, operation: str, request_: dict[str, Any], opened: int
) -> None:
    """Records go on into the parents, which end when it is ACTIVE; the children begin there."""
    active(slow, shards=2)
    slow.put(b"before", ExplicitHashKey="0")

    slow(operation, **request_)

    assert state(slow) == ("UPDATING", [ZERO, ONE])
    slow.clock.advance(29)
    assert slow.put(b"meanwhile", ExplicitHashKey="0")["ShardId"] == ZERO
    assert slow.get(slow.iterator(kind="LATEST"))["NextShardIterator"]
    slow.refuses("ResourceInUseException", f"{IN_STATE}UPDATING", "SplitShard", **SPLIT)
    slow.restart()
    assert state(slow) == ("UPDATING", [ZERO, ONE])

    slow.clock.advance(1)

    status, shards = state(slow)
    assert (status, shards[:2], len(shards)) == ("ACTIVE", [ZERO, ONE], 2 + opened)
    assert slow.drain() == [b"before", b"meanwhile"]
    assert slow.put(b"after", ExplicitHashKey="0")["ShardId"] not in (ZERO, ONE)
    children = slow.get(slow.iterator(kind="LATEST"))["ChildShards"]
    assert children
    assert all(ZERO in child["ParentShards"] for child in children)
    slow.restart()
    assert state(slow) == (status, shards)


def test_an_iterator_alone_finds_the_end_of_its_shard(slow: Api) -> None:
    """Who only reads, and asks nothing else of the stream, comes to the children in time."""
    iterator = active(slow).iterator()
    slow("SplitShard", **SPLIT)
    slow.clock.advance(31)

    answer = slow.get(iterator)

    assert [child["ShardId"] for child in answer["ChildShards"]] == [ONE, TWO]


def test_shards_come_when_they_were_to_come(slow: Api) -> None:
    """However late somebody looks: what lies between is in the children, by their time."""
    active(slow)
    slow("SplitShard", **SPLIT)
    began = slow.clock.time() + 30
    slow.clock.advance(3600)

    views = slow.engine.streams(SCOPE)[0].shards

    assert [view.created for view in views[1:]] == [began, began]
    assert [event.kind for event in slow.events.since()].count("stream.resharded") == 1


@pytest.mark.parametrize("seconds", [0, 30])
def test_a_stream_is_deleted_whatever_it_does(slow: Api, seconds: float) -> None:
    """CREATING it never has shards; ACTIVE or UPDATING it goes, and takes with it what was to come."""
    slow.create()
    slow.clock.advance(seconds)
    if seconds:
        slow("SplitShard", **SPLIT)

    slow("DeleteStream", StreamName="s")

    assert state(slow) == ("DELETING", [ZERO] if seconds else [])
    slow.refuses("ResourceInUseException", f"{IN_STATE}DELETING", "DeleteStream", StreamName="s")
    slow.refuses("ResourceInUseException", f"{IN_STATE}DELETING", "ListShards", StreamName="s")
    slow.refuses("ResourceInUseException", "already exists", "CreateStream", StreamName="s", ShardCount=1)
    slow.clock.advance(29)
    slow.restart()
    assert state(slow)[0] == "DELETING"
    slow.clock.advance(1)
    slow.refuses("ResourceNotFoundException", "not found", "DescribeStream", StreamName="s")
    slow.create()
    assert state(slow) == ("CREATING", [])


def test_a_consumer_is_subscribed_when_it_is_active(slow: Api) -> None:
    """Until then the subscription is refused as one of a stream is."""
    active(slow)
    consumer = slow("RegisterStreamConsumer", StreamARN=slow.arn, ConsumerName="c")["Consumer"]
    assert consumer["ConsumerStatus"] == "CREATING"
    arn = consumer["ConsumerARN"]
    request = {"ConsumerARN": arn, "ShardId": ZERO, "StartingPosition": {"Type": "LATEST"}}
    words = f"Consumer {arn} .* not ACTIVE, instead in state CREATING"
    slow.refuses("ResourceInUseException", words, "SubscribeToShard", **request)

    slow.clock.advance(30)

    subscription = slow("SubscribeToShard", **request)["EventStream"]
    slow("SplitShard", **SPLIT)
    assert subscription.next_batch() is None
    slow.clock.advance(30)
    assert [child["ShardId"] for child in subscription.next_batch()["ChildShards"]] == [ONE, TWO]


def test_what_lasts_can_be_finished(slow: Api) -> None:
    """The sandbox does it to its own streams, which nobody waits for."""
    slow.create()
    slow.engine.finish("s", SCOPE)
    assert state(slow) == ("ACTIVE", [ZERO])
    slow("SplitShard", **SPLIT)
    slow.engine.finish("s", SCOPE)
    assert state(slow) == ("ACTIVE", [ZERO, ONE, TWO])
    slow.engine.finish("s", SCOPE)
    slow("DeleteStream", StreamName="s")
    slow.engine.finish("s", SCOPE)
    assert slow("ListStreams")["StreamNames"] == []
