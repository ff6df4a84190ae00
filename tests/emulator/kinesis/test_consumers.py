"""Fan-out consumers and their subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from emulator.kinesis import KinesisError, Subscription
from tests.emulator.kinesis.engine_calls import SCOPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.emulator.kinesis.engine_calls import Api

NOON = 1_790_000_000
ARN = "arn:aws:kinesis:eu-west-2:000000000000:stream/s"
ZERO = "shardId-000000000000"


def register(api: Api, name: str = "c") -> str:
    arn: str = api("RegisterStreamConsumer", StreamARN=ARN, ConsumerName=name)["Consumer"]["ConsumerARN"]
    return arn


def subscribe(api: Api, arn: str, kind: str = "TRIM_HORIZON", **more: Any) -> Subscription:
    return api.engine.subscribe(arn, ZERO, {"Type": kind, **more}, SCOPE)


def data(batch: dict[str, Any] | None) -> list[bytes]:
    assert batch is not None
    return [record["Data"] for record in batch["Records"]]


def test_a_consumer_becomes_active_when_the_clock_says(engines: Callable[..., Api]) -> None:
    """As long as transitions last, it is CREATING."""
    api = engines(transition_seconds=10)
    api.create()
    api.clock.advance(10)
    arn = register(api)

    def status() -> str:
        found = api("DescribeStreamConsumer", ConsumerARN=arn)["ConsumerDescription"]
        return str(found["ConsumerStatus"])

    assert status() == "CREATING"
    api.clock.advance(10)
    assert status() == "ACTIVE"


def test_batches_are_pulled_with_a_number_to_continue_from(api: Api) -> None:
    """What comes, comes once; nothing new is None; the continuation takes up after it."""
    api.create()
    api.put(b"one")
    arn = register(api)
    subscription = subscribe(api, arn)

    first = subscription.next_batch()
    assert data(first) == [b"one"]
    assert subscription.next_batch() is None
    api.put(b"two")
    second = subscription.next_batch()
    assert data(second) == [b"two"]
    assert second["MillisBehindLatest"] == 0
    idle = subscription.next_batch(empty=True)
    assert idle["Records"] == []
    subscription.close()
    for batch, rest in ((first, [b"two"]), (second, []), (idle, [])):
        number = batch["ContinuationSequenceNumber"]
        for kind in ("AFTER_SEQUENCE_NUMBER", "AT_SEQUENCE_NUMBER"):
            again = subscribe(api, arn, kind, SequenceNumber=number)
            assert data(again.next_batch(empty=True)) == rest
            again.close()
            assert data(api.get(api.iterator(kind=kind, StartingSequenceNumber=number))) == rest


def test_a_continuation_is_a_number_of_its_own(api: Api) -> None:
    """It lies behind the record passed and before the next, and goes on though nothing is written."""
    api.create()
    shard = api.shards()[0]
    subscription = subscribe(api, register(api))
    numbers = [shard["SequenceNumberRange"]["StartingSequenceNumber"]]
    for passing in (0, 0, 7):
        numbers.append(subscription.next_batch(empty=True)["ContinuationSequenceNumber"])
        api.clock.advance(passing)
        numbers.append(api.put()["SequenceNumber"])
    subscription.next_batch()
    before = subscription.next_batch(empty=True)["ContinuationSequenceNumber"]
    api.clock.advance(5)
    numbers += [before, subscription.next_batch(empty=True)["ContinuationSequenceNumber"]]

    assert numbers == sorted(set(numbers))


def test_a_subscription_to_an_empty_shard_can_be_continued(api: Api) -> None:
    """Its continuation is a number before the first record."""
    api.create()
    arn = register(api)
    subscription = subscribe(api, arn, "LATEST")
    number = subscription.next_batch(empty=True)["ContinuationSequenceNumber"]
    subscription.close()
    api.put(b"first")

    again = subscribe(api, arn, "AFTER_SEQUENCE_NUMBER", SequenceNumber=number)

    assert data(again.next_batch()) == [b"first"]


def test_at_the_end_of_a_shard_the_children_are_named(api: Api) -> None:
    """Records, ChildShards, no number to continue from; then the subscription is over."""
    api.create()
    api.put(b"last")
    subscription = subscribe(api, register(api))
    api("SplitShard", StreamName="s", ShardToSplit=ZERO, NewStartingHashKey="1000")

    batch = subscription.next_batch()

    assert data(batch) == [b"last"]
    assert [child["ShardId"] for child in batch["ChildShards"]] == [
        "shardId-000000000001",
        "shardId-000000000002",
    ]
    assert "ContinuationSequenceNumber" not in batch
    assert subscription.ended == "shard end"
    assert subscription.next_batch(empty=True) is None


def test_a_subscription_lasts_five_minutes_of_the_clock(api: Api) -> None:
    """Then it has expired, and the consumer subscribes again."""
    api.create()
    arn = register(api)
    subscription = subscribe(api, arn)

    api.clock.advance(299)
    assert subscription.next_batch(empty=True) is not None
    api.clock.advance(1)
    assert subscription.next_batch(empty=True) is None
    assert subscription.ended == "expired"
    assert subscribe(api, arn).ended is None


def test_a_second_subscription_is_refused_for_five_seconds_and_then_takes_over(api: Api) -> None:
    """As AWS has it; another consumer is not concerned."""
    api.create()
    arn, other = register(api), register(api, "d")
    first = subscribe(api, arn)

    with pytest.raises(KinesisError, match="Another active subscription exists for this consumer") as caught:
        subscribe(api, arn)
    assert caught.value.code == "ResourceInUseException"
    assert subscribe(api, other).ended is None
    api.clock.advance(5)
    second = subscribe(api, arn)

    assert (first.ended, second.ended) == ("taken over", None)


@pytest.mark.parametrize("deleted", ["consumer", "stream"])
def test_a_subscription_ends_with_its_consumer_and_its_stream(api: Api, deleted: str) -> None:
    """Nothing more is delivered."""
    api.create()
    arn = register(api)
    subscription = subscribe(api, arn)
    told: list[tuple[str, str]] = []
    api.engine.on_records(lambda stream, shard: told.append((stream, shard)))

    if deleted == "consumer":
        api("DeregisterStreamConsumer", ConsumerARN=arn)
    else:
        api("DeleteStream", StreamName="s", EnforceConsumerDeletion=True)

    assert subscription.next_batch(empty=True) is None
    assert subscription.ended == "deleted"
    assert told == [("s", ZERO)]
