"""Streams: created, described, listed, addressed by name, ARN and id, scoped, deleted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from emulator.kinesis import KinesisError, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.emulator.kinesis.engine_calls import Api

NOON = 1_790_000_000.0
ARN = "arn:aws:kinesis:eu-west-2:000000000000:stream/s"


@pytest.mark.parametrize("shards", [10_001, 2_000_000_000])
def test_a_stream_larger_than_any_at_aws_is_refused_before_it_costs_anything(api: Api, shards: int) -> None:
    """However many shards are asked for, the answer is AWS's code at once, and no stream is left."""
    with pytest.raises(KinesisError, match=f"at most 10000 shards. ShardCount: {shards}") as refused:
        api.create(shards=shards)
    assert refused.value.code == "LimitExceededException"
    assert api("ListStreams")["StreamNames"] == []


def test_a_page_is_never_longer_than_at_aws(api: Api) -> None:
    """A hundred shards from DescribeStream and a thousand from ListShards, whatever is asked for."""
    api.create(shards=1001)

    described = api("DescribeStream", StreamName="s", Limit=10_000)["StreamDescription"]
    listed = api("ListShards", StreamName="s", MaxResults=10_000)

    assert (len(described["Shards"]), described["HasMoreShards"]) == (100, True)
    assert (len(listed["Shards"]), "NextToken" in listed) == (1000, True)


def test_streams_of_accounts_and_regions_do_not_meet(api: Api) -> None:
    """The same name can be had in another region and in another account, and each sees its own."""
    api.create(shards=1)
    ireland, other = Scope("000000000000", "eu-west-1"), Scope("111111111111", "eu-west-2")
    for scope, shards in ((ireland, 2), (other, 3)):
        api("CreateStream", scope, StreamName="s", ShardCount=shards)

    def count(scope: Scope | None = None) -> int:
        listed = api("ListShards", scope, StreamName="s") if scope else api("ListShards", StreamName="s")
        return len(listed["Shards"])

    assert [count(), count(ireland), count(other)] == [1, 2, 3]
    arn = "arn:aws:kinesis:eu-west-1:000000000000:stream/s"
    assert len(api("ListShards", StreamARN=arn)["Shards"]) == 2
    assert sorted(api.engine.scopes()) == sorted([ireland, other, Scope("000000000000", "eu-west-2")])


def test_listing_pages_by_name(api: Api) -> None:
    """Names come sorted, with a summary each, and a token or the last name goes on."""
    for name in ("c", "a", "b"):
        api.create(name)

    first = api("ListStreams", Limit=2)

    assert first["StreamNames"] == ["a", "b"]
    assert first["HasMoreStreams"]
    assert [summary["StreamStatus"] for summary in first["StreamSummaries"]] == ["ACTIVE", "ACTIVE"]
    assert api("ListStreams", NextToken=first["NextToken"])["StreamNames"] == ["c"]
    assert api("ListStreams", ExclusiveStartStreamName="a")["StreamNames"] == ["b", "c"]


def test_a_deleted_stream_is_gone_with_its_records(api: Api) -> None:
    """After deleting, a stream of the same name starts empty, and old iterators find nothing."""
    api.create()
    api.put(b"old")
    old = api.iterator()

    api("DeleteStream", StreamName="s")

    api.refuses("ResourceNotFoundException", "not found", "GetRecords", ShardIterator=old)
    api.refuses(
        "ResourceNotFoundException", "not found", "PutRecord", StreamName="s", Data=b"", PartitionKey="k"
    )
    if api.directory is not None:
        assert not list(api.directory.rglob("*/*.log"))
    api.create()
    api.restart()
    assert api.drain() == []
    api.refuses("ResourceNotFoundException", "not found", "GetRecords", ShardIterator=old)


def test_transitions_take_as_long_as_the_clock_says(engines: Callable[..., Api]) -> None:
    """CREATING, UPDATING and DELETING each last, over a restart too, and allow what AWS allows."""
    api = engines(transition_seconds=30)

    def status() -> str:
        summary: str = api("DescribeStreamSummary", StreamName="s")["StreamDescriptionSummary"][
            "StreamStatus"
        ]
        return summary

    api.create()
    assert status() == "CREATING"
    api.refuses(
        "ResourceNotFoundException", "not found", "PutRecord", StreamName="s", Data=b"", PartitionKey="k"
    )
    api.clock.advance(29)
    api.restart()
    assert status() == "CREATING"
    api.clock.advance(1)
    assert status() == "ACTIVE"

    api("UpdateShardCount", StreamName="s", TargetShardCount=2, ScalingType="UNIFORM_SCALING")
    assert status() == "UPDATING"
    api.put()
    api.refuses(
        "ResourceInUseException",
        "Stream s under account 000000000000 not ACTIVE, instead in state UPDATING",
        "UpdateShardCount",
        StreamName="s",
        TargetShardCount=3,
        ScalingType="UNIFORM_SCALING",
    )
    api.clock.advance(30)

    api("DeleteStream", StreamName="s")
    assert status() == "DELETING"
    api.refuses(
        "ResourceNotFoundException", "not found", "PutRecord", StreamName="s", Data=b"", PartitionKey="k"
    )
    api.clock.advance(30)
    with pytest.raises(KinesisError, match="not found"):
        status()
    assert api("ListStreams")["StreamNames"] == []


def test_everything_about_a_stream_survives_a_restart(engines: Callable[..., Api]) -> None:
    """Tags, retention, encryption, metrics, consumers, policies and size limits are as they were."""
    api = engines()
    api.create(shards=2, Tags={"a": "b"})
    api("IncreaseStreamRetentionPeriod", StreamName="s", RetentionPeriodHours=48)
    api("StartStreamEncryption", StreamName="s", EncryptionType="KMS", KeyId="alias/aws/kinesis")
    api("EnableEnhancedMonitoring", StreamName="s", ShardLevelMetrics=["ALL"])
    api("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="c")
    api("PutResourcePolicy", ResourceARN=ARN, Policy='{"Version":"2012-10-17"}')
    api("UpdateMaxRecordSize", StreamARN=ARN, MaxRecordSizeInKiB=2048)
    api("SplitShard", StreamName="s", ShardToSplit="shardId-000000000000", NewStartingHashKey="99")

    def everything() -> list[object]:
        return [
            api("DescribeStream", StreamName="s"),
            api("DescribeStreamSummary", StreamName="s"),
            api("ListTagsForStream", StreamName="s"),
            api("ListStreamConsumers", StreamARN=ARN),
            api("GetResourcePolicy", ResourceARN=ARN),
            api.engine.streams(Scope("000000000000", "eu-west-2")),
        ]

    before = everything()
    api.restart()

    assert everything() == before
    assert api.events.last < 10


def test_many_changes_leave_a_small_journal_after_the_next_start(engines: Callable[..., Api]) -> None:
    """The journal of states is rewritten when it has grown, and nothing is lost by that."""
    api = engines()
    api.create()
    for i in range(1100):
        api("AddTagsToStream", StreamName="s", Tags={"n": str(i)})
    size = (api.directory / "state.log").stat().st_size

    api.restart()
    api.restart()

    assert (api.directory / "state.log").stat().st_size < size / 100
    assert api("ListTagsForStream", StreamName="s")["Tags"] == [{"Key": "n", "Value": "1099"}]


def test_an_arn_that_is_none_is_refused(api: Api) -> None:
    """A stream's and a consumer's, as far as boto3 lets them through."""
    api.refuses("InvalidArgumentException", "not valid", "DescribeStream", StreamARN="arn:aws:kinesis:x")
    api.refuses("InvalidArgumentException", "not valid", "DescribeStreamConsumer", ConsumerARN="c")


def test_a_stream_has_an_id_that_addresses_it_too(api: Api) -> None:
    """As its name does; boto3 turns an id into a host of AWS's, so no client of ours can ask by it."""
    api.create()
    summary = api("DescribeStreamSummary", StreamName="s")["StreamDescriptionSummary"]

    assert re.fullmatch("[a-z0-9]{20}-[a-z0-9]{3}", summary["StreamId"])
    assert summary == api("DescribeStreamSummary", StreamId=summary["StreamId"])["StreamDescriptionSummary"]


def test_what_takes_no_time_is_over_also_when_the_clock_goes_back(api: Api) -> None:
    """A stream that was made, resharded and given a consumer on an advanced clock serves in real time."""
    api.clock.advance(40 * 365 * 86_400)
    api.create()
    api("UpdateShardCount", StreamName="s", TargetShardCount=2, ScalingType="UNIFORM_SCALING")
    api("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="c")

    api.clock.resume_real_time()

    consumer = api("DescribeStreamConsumer", StreamARN=ARN, ConsumerName="c")["ConsumerDescription"]
    assert consumer["ConsumerStatus"] == "ACTIVE"
    assert api.put()["ShardId"] != "shardId-000000000000"
    api("DeleteStream", StreamName="s", EnforceConsumerDeletion=True)
