"""Resharding: ranges, lineage, sequence numbers, what readers see at the end of a shard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.emulator.kinesis.engine_calls import Api

ZERO, ONE, TWO, THREE = (f"shardId-{i:012d}" for i in range(4))
LAST = 2**128 - 1


def split(api: Api, shard: str, at: int) -> None:
    api("SplitShard", StreamName="s", ShardToSplit=shard, NewStartingHashKey=str(at))


def merge(api: Api, one: str, other: str) -> None:
    api("MergeShards", StreamName="s", ShardToMerge=one, AdjacentShardToMerge=other)


def scale(api: Api, count: int) -> dict[str, Any]:
    return api("UpdateShardCount", StreamName="s", TargetShardCount=count, ScalingType="UNIFORM_SCALING")


def open_ranges(api: Api) -> list[tuple[int, int]]:
    shards = api.shards(ShardFilter={"Type": "AT_LATEST"})
    ranges = [shard["HashKeyRange"] for shard in shards]
    return sorted((int(r["StartingHashKey"]), int(r["EndingHashKey"])) for r in ranges)


def test_sequence_numbers_grow_from_parents_to_children_within_one_millisecond(api: Api) -> None:
    """On a frozen clock, with many reshardings, every number of a child is above all of its parents'."""
    api.create()
    for step in range(4):
        for i in range(20):
            api.put(key=str(i))
        scale(api, 2 if step % 2 == 0 else 1)
    api.put()

    shards = {shard["ShardId"]: shard for shard in api.shards()}
    numbers: dict[str, list[int]] = {}
    for i, shard_id in enumerate(shards):
        records = api.get(api.iterator(i))["Records"]
        numbers[shard_id] = [int(record["SequenceNumber"]) for record in records]
        assert numbers[shard_id] == sorted(set(numbers[shard_id]))
        assert all(len(record["SequenceNumber"]) == 56 for record in records)
    together = [number for found in numbers.values() for number in found]
    assert len(together) == len(set(together)) == 81
    for shard_id, shard in shards.items():
        for parent in (shard.get("ParentShardId"), shard.get("AdjacentParentShardId")):
            if parent is not None:
                ending = int(shards[parent]["SequenceNumberRange"]["EndingSequenceNumber"])
                assert max([0, *numbers[parent]]) < ending < min([2**256, *numbers[shard_id]])
                assert ending < int(shard["SequenceNumberRange"]["StartingSequenceNumber"])


def test_closed_shards_are_readable_until_their_retention_has_passed(api: Api) -> None:
    """Then they are not listed any more, and cannot be read."""
    api.create()
    api.put(b"old")
    split(api, ZERO, 1000)

    api.clock.advance(24 * 3600 - 1)
    assert api.drain(0) == [b"old"]
    api.clock.advance(2)

    assert [shard["ShardId"] for shard in api.shards()] == [ONE, TWO]
    api.refuses(
        "ResourceNotFoundException",
        "Shard shardId-000000000000 in stream s under account 000000000000 does not exist",
        "GetShardIterator",
        StreamName="s",
        ShardId=ZERO,
        ShardIteratorType="TRIM_HORIZON",
    )
    if api.directory is not None:
        assert not list(api.directory.rglob("*/000000000000/*.log"))


def test_list_shards_pages_with_a_token_that_expires(api: Api) -> None:
    """The token carries the filter; it stands alone; five minutes later it is refused."""
    api.create(shards=5)
    first = api("ListShards", StreamName="s", MaxResults=2, ShardFilter={"Type": "AT_LATEST"})
    second = api("ListShards", NextToken=first["NextToken"], MaxResults=2)
    third = api("ListShards", NextToken=second["NextToken"], MaxResults=2)

    ids = [shard["ShardId"] for page in (first, second, third) for shard in page["Shards"]]
    assert ids == [f"shardId-{i:012d}" for i in range(5)]
    assert "NextToken" not in third
    api.refuses(
        "InvalidArgumentException", "cannot be provided together", "ListShards", StreamName="s", NextToken="x"
    )
    api.refuses("InvalidArgumentException", "not valid", "ListShards", NextToken="x")
    api.clock.advance(301)
    api.refuses("ExpiredNextTokenException", "expired", "ListShards", NextToken=first["NextToken"])


def test_readers_are_told_of_records_and_of_shards_that_close(api: Api) -> None:
    """The callback names the stream and the shard, until it is ended."""
    api.create()
    told: list[tuple[str, str]] = []
    end = api.engine.on_records(lambda stream, shard: told.append((stream, shard)))

    api.put()
    split(api, ZERO, 1000)
    api.put(ExplicitHashKey="2000")
    end()
    api.put()

    assert told == [("s", ZERO), ("s", ZERO), ("s", TWO)]


@pytest.mark.parametrize(
    ("before", "after", "listed"), [(4, 8, 12), (8, 4, 12), (10, 13, 43), (5, 3, 13), (10, 3, 23)]
)
def test_scaling_splits_and_merges_no_more_than_it_must(
    engines: Callable[..., Api], before: int, after: int, listed: int
) -> None:
    """A split for each boundary that is not there, a merge for each that is not wanted; others are left."""
    api = engines()
    api.create(shards=before)

    api("UpdateShardCount", StreamName="s", TargetShardCount=after, ScalingType="UNIFORM_SCALING")

    shards = api.shards()
    assert len(shards) == listed
    assert sum("EndingSequenceNumber" not in shard["SequenceNumberRange"] for shard in shards) == after
    ranges = {shard["ShardId"]: [int(key) for key in shard["HashKeyRange"].values()] for shard in shards}
    for shard in shards[before:]:
        parents = [ranges[shard[key]] for key in ("ParentShardId", "AdjacentParentShardId") if key in shard]
        first, last = sorted(ranges[shard["ShardId"]])
        assert min(map(min, parents)) <= first
        assert last <= max(map(max, parents))


def test_very_many_shards_are_not_scaled_at_once(api: Api) -> None:
    """Others would wait meanwhile. The stream is made, read and split as any other."""
    api.create(shards=3_001)

    api.refuses(
        "LimitExceededException",
        "UpdateShardCount is limited to 3000 shards in this sandbox. Split or merge shards one by one, or "
        "create the stream with as many as it needs. Current open shard count: 3001 Target shard count: 3000",
        "UpdateShardCount",
        StreamName="s",
        TargetShardCount=3_000,
        ScalingType="UNIFORM_SCALING",
    )
    split(api, ZERO, 2**64)

    summary = api("DescribeStreamSummary", StreamName="s")["StreamDescriptionSummary"]
    assert summary["OpenShardCount"] == 3_002


def test_a_stream_with_very_many_closed_shards_is_resharded_when_they_have_expired(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change of a stream takes as long as it has shards, so their number has an end."""
    monkeypatch.setattr("emulator.kinesis.operations.shards.SHARDS_BEFORE_RESHARDING", 5)
    api.create()
    scale(api, 2)
    scale(api, 4)
    assert len(api.shards()) == 7

    api.refuses(
        "LimitExceededException",
        "Stream s under account 000000000000 has 7 shards, with those that are closed. With more than 5 it "
        "is not resharded until closed shards have passed their retention period.",
        "MergeShards",
        StreamName="s",
        ShardToMerge="shardId-000000000003",
        AdjacentShardToMerge="shardId-000000000004",
    )
    api.clock.advance(25 * 3600)
    merge(api, "shardId-000000000003", "shardId-000000000004")

    assert len(open_ranges(api)) == 3
