"""Resharding: ranges, lineage, what readers see at the end of a shard, which shards are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.emulator.kinesis.engine_calls import Calls

ZERO, ONE, TWO, THREE = (f"shardId-{i:012d}" for i in range(4))
LAST = 2**128 - 1


def split(api: Calls, shard: str, at: int) -> None:
    api("SplitShard", StreamName=api.name, ShardToSplit=shard, NewStartingHashKey=str(at))


def merge(api: Calls, one: str, other: str) -> None:
    api("MergeShards", StreamName=api.name, ShardToMerge=one, AdjacentShardToMerge=other)


def scale(api: Calls, count: int) -> dict[str, Any]:
    return api("UpdateShardCount", StreamName=api.name, TargetShardCount=count, ScalingType="UNIFORM_SCALING")


def open_ranges(api: Calls) -> list[tuple[int, int]]:
    shards = api.shards(ShardFilter={"Type": "AT_LATEST"})
    ranges = [shard["HashKeyRange"] for shard in shards]
    return sorted((int(r["StartingHashKey"]), int(r["EndingHashKey"])) for r in ranges)


def test_a_split_closes_the_parent_and_divides_its_range_at_the_key(api: Calls) -> None:
    """The children begin where told, name their parent, and only they are written to."""
    api.create()
    api.put(b"before", ExplicitHashKey="7")

    split(api, ZERO, 1000)

    parent, low, high = api.shards()
    assert "EndingSequenceNumber" in parent["SequenceNumberRange"]
    assert low["HashKeyRange"] == {"StartingHashKey": "0", "EndingHashKey": "999"}
    assert high["HashKeyRange"] == {"StartingHashKey": "1000", "EndingHashKey": str(LAST)}
    assert low["ParentShardId"] == high["ParentShardId"] == ZERO
    assert "AdjacentParentShardId" not in low
    assert api.put(b"low", ExplicitHashKey="999")["ShardId"] == ONE
    assert api.put(b"high", ExplicitHashKey="1000")["ShardId"] == TWO
    assert api.drain(0) == [b"before"]


def test_the_numbers_of_a_parent_are_below_those_of_its_children(api: Calls) -> None:
    """Its last record, then the number it ends with, then those with which its children begin."""
    api.create()
    last = api.put(b"last")["SequenceNumber"]

    split(api, ZERO, 1000)

    parent, *children = (shard["SequenceNumberRange"] for shard in api.shards())
    ending = int(parent["EndingSequenceNumber"])
    assert int(last) < ending
    assert all(int(child["StartingSequenceNumber"]) > ending for child in children)


def test_a_merge_joins_neighbours_in_either_order(api: Calls) -> None:
    """The child covers both ranges and names both parents."""
    api.create(shards=2)

    merge(api, ONE, ZERO)

    child = api.shards()[2]
    assert child["HashKeyRange"] == {"StartingHashKey": "0", "EndingHashKey": str(LAST)}
    assert (child["ParentShardId"], child["AdjacentParentShardId"]) == (ONE, ZERO)


def test_at_the_end_of_a_closed_shard_there_is_no_next_iterator_but_its_children(api: Calls) -> None:
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


def test_a_reader_that_waits_at_the_tip_learns_of_the_split(api: Calls) -> None:
    """An iterator got before the split, at the end of the shard, ends with the children."""
    api.create()
    waiting = api.iterator(kind="LATEST")

    split(api, ZERO, 1000)

    assert {child["ShardId"] for child in api.get(waiting)["ChildShards"]} == {ONE, TWO}


@pytest.mark.parametrize("at", [0, 1, 2**127 - 1, 2**127, LAST])
def test_a_split_needs_a_key_well_inside_the_range(api: Calls, at: int) -> None:
    """The bounds are those of AWS: greater than start plus one, less than the end."""
    api.create(shards=2)

    api.refuses(
        "InvalidArgumentException",
        f"NewStartingHashKey {at} used in SplitShard",
        "SplitShard",
        StreamName=api.name,
        ShardToSplit=ZERO,
        NewStartingHashKey=str(at),
    )


def test_a_closed_shard_is_not_split_or_merged_again(api: Calls) -> None:
    """It has already been merged or split, says AWS, and so do we."""
    api.create()
    split(api, ZERO, 1000)
    words = "has already been merged or split, and thus is not eligible for merging or splitting"

    api.refuses(
        "InvalidArgumentException",
        words,
        "SplitShard",
        StreamName=api.name,
        ShardToSplit=ZERO,
        NewStartingHashKey="9",
    )
    api.refuses(
        "InvalidArgumentException",
        words,
        "MergeShards",
        StreamName=api.name,
        ShardToMerge=ZERO,
        AdjacentShardToMerge=ONE,
    )


def test_shards_that_are_not_neighbours_are_not_merged(api: Calls) -> None:
    """Nor is a shard with itself, nor with one that does not exist."""
    api.create(shards=3)

    for other in (TWO, ZERO):
        api.refuses(
            "InvalidArgumentException",
            "not an adjacent pair of shards eligible for merging",
            "MergeShards",
            StreamName=api.name,
            ShardToMerge=ZERO,
            AdjacentShardToMerge=other,
        )
    api.refuses(
        "ResourceNotFoundException",
        f"Could not find shard {THREE} in stream {api.name} under account 000000000000.",
        "SplitShard",
        StreamName=api.name,
        ShardToSplit=THREE,
        NewStartingHashKey="9",
    )


def test_an_on_demand_stream_is_not_resharded_by_hand(api: Calls) -> None:
    """It has four shards, and refuses with AWS's ValidationException."""
    api("CreateStream", StreamName=api.name, StreamModeDetails={"StreamMode": "ON_DEMAND"})

    assert len(api.shards()) == 4
    api.refuses(
        "ValidationException",
        "On-Demand mode",
        "UpdateShardCount",
        StreamName=api.name,
        TargetShardCount=2,
        ScalingType="UNIFORM_SCALING",
    )


@pytest.mark.parametrize("counts", [(2, 4), (4, 2), (2, 3), (3, 2), (1, 7), (7, 5), (5, 1)])
def test_scaling_ends_with_shards_of_equal_size(api: Calls, counts: tuple[int, int]) -> None:
    """The open ranges are those of a new stream of that size, whatever the counts were."""
    current, target = counts
    api.create(shards=current)
    api.create("fresh", shards=target)

    answer = scale(api, target)

    assert (answer["CurrentShardCount"], answer["TargetShardCount"]) == (current, target)
    fresh = sorted(tuple(int(key) for key in shard["HashKeyRange"].values()) for shard in api.shards("fresh"))
    assert open_ranges(api) == fresh


def test_list_shards_filters_by_id_and_time(api: Calls) -> None:
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
            StreamName=api.name,
            ShardFilter={"Type": kind},
        )


def test_scaling_to_the_count_there_is_changes_nothing(api: Calls) -> None:
    """No shard is closed for it."""
    api.create(shards=4)

    scale(api, 4)

    assert len(api.shards()) == 4
