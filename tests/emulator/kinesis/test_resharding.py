"""Resharding: ranges, lineage, sequence numbers, what readers see at the end of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.emulator.kinesis.conftest import Api

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


def test_a_split_closes_the_parent_and_divides_its_range_at_the_key(api: Api) -> None:
    """The children begin where told, name their parent, and only they are written to."""
    api.create()
    before = api.put(b"before", ExplicitHashKey="7")

    split(api, ZERO, 1000)

    parent, low, high = api.shards()
    assert low["HashKeyRange"] == {"StartingHashKey": "0", "EndingHashKey": "999"}
    assert high["HashKeyRange"] == {"StartingHashKey": "1000", "EndingHashKey": str(LAST)}
    assert low["ParentShardId"] == high["ParentShardId"] == ZERO
    assert "AdjacentParentShardId" not in low
    ending = parent["SequenceNumberRange"]["EndingSequenceNumber"]
    assert int(before["SequenceNumber"]) < int(ending)
    assert all(int(s["SequenceNumberRange"]["StartingSequenceNumber"]) > int(ending) for s in (low, high))
    assert api.put(b"low", ExplicitHashKey="999")["ShardId"] == ONE
    assert api.put(b"high", ExplicitHashKey="1000")["ShardId"] == TWO
    assert api.drain(0) == [b"before"]


def test_a_merge_joins_neighbours_in_either_order(api: Api) -> None:
    """The child covers both ranges and names both parents."""
    api.create(shards=2)

    merge(api, ONE, ZERO)

    child = api.shards()[2]
    assert child["HashKeyRange"] == {"StartingHashKey": "0", "EndingHashKey": str(LAST)}
    assert (child["ParentShardId"], child["AdjacentParentShardId"]) == (ONE, ZERO)


def test_at_the_end_of_a_closed_shard_there_is_no_next_iterator_but_its_children(api: Api) -> None:
    """A reader is told where to go on once the parent is drained, and not before."""
    api.create()
    for i in range(3):
        api.put(b"%d" % i)
    split(api, ZERO, 1000)

    first = api.get(api.iterator(), Limit=2)
    last = api.get(first["NextShardIterator"], Limit=2)

    assert [record["Data"] for record in first["Records"]] == [b"0", b"1"]
    assert "ChildShards" not in first
    assert [record["Data"] for record in last["Records"]] == [b"2"]
    assert "NextShardIterator" not in last
    assert last["ChildShards"] == [
        {
            "ShardId": ONE,
            "ParentShards": [ZERO],
            "HashKeyRange": {"StartingHashKey": "0", "EndingHashKey": "999"},
        },
        {
            "ShardId": TWO,
            "ParentShards": [ZERO],
            "HashKeyRange": {"StartingHashKey": "1000", "EndingHashKey": str(LAST)},
        },
    ]
    merge(api, ONE, TWO)
    for parent in (1, 2):
        (child,) = api.get(api.iterator(parent))["ChildShards"]
        assert (child["ShardId"], child["ParentShards"]) == (THREE, [ONE, TWO])


def test_a_reader_that_waits_at_the_tip_learns_of_the_split(api: Api) -> None:
    """An iterator got before the split, at the end of the shard, ends with the children."""
    api.create()
    waiting = api.iterator(kind="LATEST")

    split(api, ZERO, 1000)

    assert {child["ShardId"] for child in api.get(waiting)["ChildShards"]} == {ONE, TWO}


@pytest.mark.parametrize("at", [0, 1, 2**127 - 1, 2**127, LAST])
def test_a_split_needs_a_key_well_inside_the_range(api: Api, at: int) -> None:
    """The bounds are those of AWS: greater than start plus one, less than the end."""
    api.create(shards=2)

    api.refuses(
        "InvalidArgumentException",
        f"NewStartingHashKey {at} used in SplitShard",
        "SplitShard",
        StreamName="s",
        ShardToSplit=ZERO,
        NewStartingHashKey=str(at),
    )


def test_a_closed_shard_is_not_split_or_merged_again(api: Api) -> None:
    """It has already been merged or split, says AWS, and so do we."""
    api.create()
    split(api, ZERO, 1000)
    words = "has already been merged or split, and thus is not eligible for merging or splitting"

    api.refuses(
        "InvalidArgumentException",
        words,
        "SplitShard",
        StreamName="s",
        ShardToSplit=ZERO,
        NewStartingHashKey="9",
    )
    api.refuses(
        "InvalidArgumentException",
        words,
        "MergeShards",
        StreamName="s",
        ShardToMerge=ZERO,
        AdjacentShardToMerge=ONE,
    )


def test_shards_that_are_not_neighbours_are_not_merged(api: Api) -> None:
    """Nor is a shard with itself, nor with one that does not exist."""
    api.create(shards=3)

    for other in (TWO, ZERO):
        api.refuses(
            "InvalidArgumentException",
            "not an adjacent pair of shards eligible for merging",
            "MergeShards",
            StreamName="s",
            ShardToMerge=ZERO,
            AdjacentShardToMerge=other,
        )
    api.refuses(
        "ResourceNotFoundException",
        f"Could not find shard {THREE} in stream s under account 000000000000.",
        "SplitShard",
        StreamName="s",
        ShardToSplit=THREE,
        NewStartingHashKey="9",
    )


def test_an_on_demand_stream_is_not_resharded_by_hand(api: Api) -> None:
    """It has four shards, and refuses with AWS's ValidationException."""
    api("CreateStream", StreamName="s", StreamModeDetails={"StreamMode": "ON_DEMAND"})

    assert len(api.shards()) == 4
    api.refuses(
        "ValidationException", "On-Demand mode", "UpdateShardCount", StreamName="s", TargetShardCount=2
    )


@pytest.mark.parametrize("counts", [(2, 4), (4, 2), (2, 3), (3, 2), (1, 7), (7, 5), (5, 1), (4, 4)])
def test_scaling_ends_with_shards_of_equal_size(api: Api, counts: tuple[int, int]) -> None:
    """The open ranges are those of a new stream of that size, whatever the counts were."""
    current, target = counts
    api.create(shards=current)
    api.create("fresh", shards=target)

    answer = scale(api, target)

    assert (answer["CurrentShardCount"], answer["TargetShardCount"]) == (current, target)
    fresh = sorted(tuple(int(key) for key in shard["HashKeyRange"].values()) for shard in api.shards("fresh"))
    assert open_ranges(api) == fresh
    if current == target:
        assert len(api.shards()) == current


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
        "Could not find shard",
        "GetShardIterator",
        StreamName="s",
        ShardId=ZERO,
        ShardIteratorType="TRIM_HORIZON",
    )
    if api.directory is not None:
        assert not list(api.directory.rglob("*/000000000000/*.log"))


def test_list_shards_filters_by_id_and_time(api: Api) -> None:
    """Each filter type gives the shards that AWS's documentation says."""
    api.create()
    start = api.clock.time()
    api.clock.advance(100)
    split(api, ZERO, 1000)
    api.clock.advance(100)
    merge(api, ONE, TWO)

    def listed(**chosen: Any) -> list[str]:
        return [shard["ShardId"] for shard in api.shards(ShardFilter=chosen)]

    assert listed(Type="AFTER_SHARD_ID", ShardId=ZERO) == [ONE, TWO, THREE]
    assert listed(Type="AT_TRIM_HORIZON") == [ZERO]
    assert listed(Type="FROM_TRIM_HORIZON") == [ZERO, ONE, TWO, THREE]
    assert listed(Type="AT_LATEST") == [THREE]
    assert listed(Type="AT_TIMESTAMP", Timestamp=start + 50) == [ZERO]
    assert listed(Type="AT_TIMESTAMP", Timestamp=start + 150) == [ONE, TWO]
    assert listed(Type="FROM_TIMESTAMP", Timestamp=start + 150) == [ONE, TWO, THREE]
    assert listed(Type="FROM_TIMESTAMP", Timestamp=0) == [ZERO, ONE, TWO, THREE]
    for kind in ("AFTER_SHARD_ID", "AT_TIMESTAMP", "FROM_TIMESTAMP"):
        api.refuses(
            "InvalidArgumentException",
            "Must specify",
            "ListShards",
            StreamName="s",
            ShardFilter={"Type": kind},
        )


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
