"""Strict limits: AWS's exceptions and partial failures, measured on the clock."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from emulator.kinesis import KinesisError
from tests.emulator.kinesis.engine_calls import SCOPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.emulator.kinesis.engine_calls import Api

EXCEEDED = "ProvisionedThroughputExceededException"
RATE = "Rate exceeded for shard shardId-000000000000 in stream s under account 000000000000."
MIB = 1024 * 1024


@pytest.fixture
def strict(engines: Callable[..., Api]) -> Api:
    return engines(limits="strict")


def batch(api: Api, count: int, size: int = 1, **more: Any) -> dict[str, Any]:
    record = {"Data": b"x" * size, "PartitionKey": "k", **more}
    return api("PutRecords", StreamName="s", Records=[record] * count)


def test_a_shard_takes_a_thousand_records_a_second(strict: Api) -> None:
    """The rest of a batch fails, entry by entry, and what was stored is what was answered."""
    strict.create()

    assert [batch(strict, 400)["FailedRecordCount"] for _ in range(3)] == [0, 0, 200]
    refused = batch(strict, 1)["Records"]
    assert refused == [{"ErrorCode": EXCEEDED, "ErrorMessage": RATE}]
    strict.refuses(EXCEEDED, RATE, "PutRecord", StreamName="s", Data=b"", PartitionKey="k")
    strict.clock.advance(0.1)
    assert batch(strict, 200)["FailedRecordCount"] == 100
    assert strict.engine.streams(SCOPE)[0].records == 1100
    strict.clock.advance(3600)
    assert [batch(strict, 400)["FailedRecordCount"] for _ in range(3)] == [0, 0, 200]


def test_a_shard_takes_a_mebibyte_a_second(strict: Api) -> None:
    """Measured in bytes of data; another shard has its own."""
    strict.create(shards=2)

    answer = batch(strict, 6, MIB // 4, ExplicitHashKey="0")

    assert ["ErrorCode" in entry for entry in answer["Records"]] == [False] * 4 + [True] * 2
    assert batch(strict, 4, MIB // 4, ExplicitHashKey=str(2**128 - 1))["FailedRecordCount"] == 0
    strict.clock.advance(0.5)
    assert batch(strict, 3, MIB // 4, ExplicitHashKey="0")["FailedRecordCount"] == 1


def test_a_large_record_uses_the_seconds_that_follow(strict: Api) -> None:
    """Four mebibytes are taken by a shard at rest, which then refuses until they are paid for."""
    strict.create(MaxRecordSizeInKiB=10_240)

    strict.put(b"x" * 4 * MIB)
    for seconds in (1, 1, 1):
        strict.refuses(EXCEEDED, RATE, "PutRecord", StreamName="s", Data=b"x", PartitionKey="k")
        strict.clock.advance(seconds)
    strict.clock.advance(0.5)
    strict.put(b"x")


def test_a_shard_is_read_five_times_a_second(strict: Api) -> None:
    """The sixth read is refused on both paths; a fifth of a second later one more is allowed."""
    strict.create()
    iterator = strict.iterator()
    body = json.dumps({"ShardIterator": iterator}).encode()

    for _ in range(3):
        strict.get(iterator)
        strict.clock.advance(0)
    for _ in range(2):
        strict.engine.get_records_json(body, SCOPE)
    strict.refuses(EXCEEDED, RATE, "GetRecords", ShardIterator=iterator)
    with pytest.raises(KinesisError, match=RATE):
        strict.engine.get_records_json(body, SCOPE)
    strict.clock.advance(0.2)
    strict.get(iterator)


def test_reading_much_at_once_is_paid_for_in_seconds(strict: Api) -> None:
    """Ten mebibytes in one answer, and then nothing for about five seconds."""
    strict.create()
    for _ in range(10):
        strict.put(b"x" * (MIB - 1), "k")
        strict.clock.advance(1)

    first = strict.get(strict.iterator())
    assert len(first["Records"]) == 10
    strict.refuses(EXCEEDED, RATE, "GetRecords", ShardIterator=first["NextShardIterator"])
    strict.clock.advance(3)
    strict.refuses(EXCEEDED, RATE, "GetRecords", ShardIterator=first["NextShardIterator"])
    strict.clock.advance(4)
    strict.get(first["NextShardIterator"])


def test_iterators_are_given_five_times_a_second(strict: Api) -> None:
    """For each shard."""
    strict.create(shards=2)
    for _ in range(5):
        strict.iterator(0)

    with pytest.raises(KinesisError, match=RATE) as caught:
        strict.iterator(0)

    assert caught.value.code == EXCEEDED
    strict.iterator(1)


def test_operations_have_a_rate_for_the_account(strict: Api) -> None:
    """The sixth stream in a second is one too many."""
    for i in range(5):
        strict.create(str(i))

    strict.refuses(
        "LimitExceededException",
        "Rate exceeded for account 000000000000",
        "CreateStream",
        StreamName="s",
        ShardCount=1,
    )
    strict.clock.advance(0.2)
    strict.create()


def test_an_account_has_a_quota_of_shards(strict: Api) -> None:
    """It says how many there are, what the limit is, and how many were asked for."""
    strict.create(shards=999)
    strict.create("t")

    words = "Current shard count for the account: 1000. Limit: 1000. Number of additional shards .*: 1."
    strict.refuses("LimitExceededException", words, "CreateStream", StreamName="u", ShardCount=1)
    strict.refuses(
        "LimitExceededException",
        words,
        "SplitShard",
        StreamName="s",
        ShardToSplit="shardId-000000000000",
        NewStartingHashKey="1000",
    )


def test_scaling_is_bounded_by_the_size_and_the_day(strict: Api) -> None:
    """Not over double, not below half, not more than ten times in 24 hours."""
    strict.create(shards=4)

    def scale(count: int) -> None:
        strict("UpdateShardCount", StreamName="s", TargetShardCount=count, ScalingType="UNIFORM_SCALING")

    with pytest.raises(KinesisError, match="cannot scale up over double"):
        scale(9)
    with pytest.raises(KinesisError, match="cannot scale down below half"):
        scale(1)
    for i in range(10):
        scale(5 + i % 2)
        strict.clock.advance(1)
    with pytest.raises(KinesisError, match="10 times in the last 24 hours"):
        scale(4)
    strict.clock.advance(24 * 3600)
    scale(4)


def test_relaxed_engines_have_none_of_these(engines: Callable[..., Api]) -> None:
    """A developer's own machine is not throttled, but no stream has ten thousand and one shards."""
    api = engines()
    for i in range(8):
        api.create(f"s{i}")
    api.create()
    iterators = [api.iterator() for _ in range(20)]
    for _ in range(4):
        assert batch(api, 500)["FailedRecordCount"] == 0
    for iterator in iterators:
        api.get(iterator)
    api("UpdateShardCount", StreamName="s", TargetShardCount=9, ScalingType="UNIFORM_SCALING")
    api.refuses(
        "InvalidArgumentException", "10000", "UpdateShardCount", StreamName="s", TargetShardCount=10_001
    )
