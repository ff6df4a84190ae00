"""Shards are named by any prefix and their number, and answers name them in full."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator.kinesis.engine_calls import Api

FORMS = ("shardId-000000000001", "shardId-1", "1", "shard-1", "x-1", "-1", "a-b-0001", "a.b_c-1")
NO_NUMBERS = ("shardId-x", "shardId-", "x1", "2.14E4", "2147483648", "shardId-002147483648", "٣")
PLACE = "in stream s under account 000000000000"
LATEST = {"ShardIteratorType": "LATEST"}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_means_the_shard(api: Api, form: str) -> None:
    """Where shards are read, subscribed to, listed and resharded."""
    api.create(shards=3)
    api.put(b"in one", ExplicitHashKey=str(2**127))
    token = api("GetShardIterator", StreamName="s", ShardId=form, ShardIteratorType="TRIM_HORIZON")
    assert [record["Data"] for record in api.get(token["ShardIterator"])["Records"]] == [b"in one"]
    arn = api("RegisterStreamConsumer", StreamARN=api.arn, ConsumerName="c")["Consumer"]["ConsumerARN"]
    start = {"Type": "TRIM_HORIZON"}
    subscription = api("SubscribeToShard", ConsumerARN=arn, ShardId=form, StartingPosition=start)
    assert subscription["EventStream"].shard_id == "shardId-000000000001"
    behind = ["shardId-000000000002"]
    kept = {"Type": "AFTER_SHARD_ID", "ShardId": form}
    described = api("DescribeStream", StreamName="s", ExclusiveStartShardId=form)["StreamDescription"]
    for listed in (
        api.shards(ExclusiveStartShardId=form),
        api.shards(ShardFilter=kept),
        described["Shards"],
    ):
        assert [shard["ShardId"] for shard in listed] == behind
    api("MergeShards", StreamName="s", ShardToMerge=form, AdjacentShardToMerge="2")
    assert api.shards()[-1]["ParentShardId"] == "shardId-000000000001"
    api("SplitShard", StreamName="s", ShardToSplit=form[:-1] + "0", NewStartingHashKey="1000")


@pytest.mark.parametrize("form", NO_NUMBERS)
@pytest.mark.parametrize(
    ("operation", "member", "more"),
    [
        ("GetShardIterator", "ShardId", LATEST),
        ("SplitShard", "ShardToSplit", {"NewStartingHashKey": "1000"}),
        ("MergeShards", "ShardToMerge", {"AdjacentShardToMerge": "shardId-0"}),
        ("MergeShards", "AdjacentShardToMerge", {"ShardToMerge": "shardId-0"}),
    ],
)
def test_what_has_no_number_is_found_nowhere(
    api: Api, form: str, operation: str, member: str, more: dict[str, Any]
) -> None:
    """It is named as it came, whether or not there is such a stream."""
    words = f"^ResourceNotFoundException: Could not find shard {form} {PLACE}.$"
    api.refuses("ResourceNotFoundException", words, operation, StreamName="s", **{member: form}, **more)
    api.create()
    request = {member: form} | more
    api.refuses("ResourceNotFoundException", words, operation, StreamName="s", **request)
    api.refuses("ResourceNotFoundException", words, operation, StreamARN=api.arn, **request)


def test_a_shard_that_is_not_there_is_named_in_full(api: Api) -> None:
    """Each operation has words of its own; reading says so of a stream that is not there, too."""
    absent = f"^ResourceNotFoundException: Shard shardId-000000000005 {PLACE} does not exist$"
    unfound = f"^ResourceNotFoundException: Could not find shard shardId-000000000005 {PLACE}.$"
    reading = ("GetShardIterator", {"StreamName": "s", "ShardId": "x-5"} | LATEST)
    splitting = ("SplitShard", {"StreamName": "s", "ShardToSplit": "5", "NewStartingHashKey": "9"})
    merging = ("MergeShards", {"StreamName": "s", "ShardToMerge": "0", "AdjacentShardToMerge": "x-5"})
    api.refuses("ResourceNotFoundException", absent, reading[0], **reading[1])
    for operation, request in (splitting, merging):
        api.refuses("ResourceNotFoundException", "Stream s under account", operation, **request)

    api.create(shards=2)

    api.refuses("ResourceNotFoundException", absent, reading[0], **reading[1])
    for operation, request in (splitting, merging):
        api.refuses("ResourceNotFoundException", unfound, operation, **request)
