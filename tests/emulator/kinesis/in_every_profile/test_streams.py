"""Streams: created, described, addressed by name, ARN and id, deleted."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.emulator.kinesis.engine_calls import Calls

SOON = 60
"""Seconds within which a test comes to look."""


def test_a_new_stream_is_described_with_shards_that_divide_the_hash_space(api: Calls) -> None:
    """Three shards: their ranges touch, and cover 0 to 2^128-1."""
    api.create(shards=3)

    description = api("DescribeStream", StreamName=api.name)["StreamDescription"]

    ranges = [shard["HashKeyRange"] for shard in description["Shards"]]
    assert ranges[0]["StartingHashKey"] == "0"
    assert ranges[-1]["EndingHashKey"] == str(2**128 - 1)
    for one, following in pairwise(ranges):
        assert int(one["EndingHashKey"]) + 1 == int(following["StartingHashKey"])
    assert description["StreamARN"] == api.arn
    assert description["StreamStatus"] == "ACTIVE"
    assert description["RetentionPeriodHours"] == 24
    assert description["StreamCreationTimestamp"] == pytest.approx(api.clock.time(), abs=SOON)
    assert description["EncryptionType"] == "NONE"
    assert description["EnhancedMonitoring"] == [{"ShardLevelMetrics": []}]
    assert not description["HasMoreShards"]


def test_describing_pages_through_the_shards(api: Calls) -> None:
    """Limit and ExclusiveStartShardId go through all of them."""
    api.create(shards=5)

    first = api("DescribeStream", StreamName=api.name, Limit=3)["StreamDescription"]
    last = first["Shards"][-1]["ShardId"]
    rest = api("DescribeStream", StreamName=api.name, Limit=3, ExclusiveStartShardId=last)[
        "StreamDescription"
    ]

    assert first["HasMoreShards"]
    assert not rest["HasMoreShards"]
    ids = [shard["ShardId"] for shard in first["Shards"] + rest["Shards"]]
    assert ids == [f"shardId-{i:012d}" for i in range(5)]


def test_name_and_arn_address_the_same_stream(api: Calls) -> None:
    """What DescribeStreamSummary says of a stream can each be used to ask for it again."""
    api.create()
    summary = api("DescribeStreamSummary", StreamName=api.name)["StreamDescriptionSummary"]

    assert summary == api("DescribeStreamSummary", StreamARN=api.arn)["StreamDescriptionSummary"]
    assert (summary["OpenShardCount"], summary["ConsumerCount"]) == (1, 0)


def test_a_name_that_is_taken_or_unknown_is_said_in_the_words_of_aws(api: Calls) -> None:
    """Creating twice, and naming what is not there."""
    api.create()

    api.refuses(
        "ResourceInUseException",
        f"Stream {api.name} under account 000000000000 already exists.",
        "CreateStream",
        StreamName=api.name,
        ShardCount=1,
    )
    api.refuses(
        "ResourceNotFoundException",
        "Stream no-stream under account 000000000000 not found.",
        "DescribeStream",
        StreamName="no-stream",
    )


def test_what_names_no_stream_or_two_is_refused(api: Calls) -> None:
    """A name and an ARN of different streams, neither of them, and a stream of no size."""
    api.create()
    both = {"StreamName": "no-stream", "StreamARN": api.arn}

    api.refuses("InvalidArgumentException", "do not name the same", "DescribeStream", **both)
    api.refuses("InvalidArgumentException", "Either StreamName or StreamARN", "DescribeStream")
    sizeless = {"StreamName": "no-stream", "StreamModeDetails": {"StreamMode": "PROVISIONED"}}
    api.refuses("InvalidArgumentException", "ShardCount must be set", "CreateStream", **sizeless)


def test_a_stream_with_consumers_is_deleted_only_when_that_is_enforced(api: Calls) -> None:
    """As at AWS, EnforceConsumerDeletion is asked for."""
    api.create()
    api("RegisterStreamConsumer", StreamARN=api.arn, ConsumerName="c")

    api.refuses("ResourceInUseException", "EnforceConsumerDeletion", "DeleteStream", StreamName=api.name)
    api("DeleteStream", StreamName=api.name, EnforceConsumerDeletion=True)

    assert api.name not in api("ListStreams")["StreamNames"]
