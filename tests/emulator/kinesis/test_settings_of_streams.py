"""Tags, retention, encryption, monitoring, policies, capacity, accounts: what is set is what is told."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import botocore
import pytest

from emulator.kinesis.operations import OPERATIONS, not_enabled

if TYPE_CHECKING:
    from tests.emulator.kinesis.engine_calls import Api

ARN = "arn:aws:kinesis:eu-west-2:000000000000:stream/s"


def test_every_operation_of_the_service_model_is_there() -> None:
    """None is missing, and none is invented."""
    path = Path(botocore.__file__).parent / "data/kinesis/2013-12-02/service-2.json.gz"
    model = json.loads(gzip.decompress(path.read_bytes()))

    assert set(OPERATIONS) == set(model["operations"])


@pytest.mark.parametrize("operation", not_enabled.NAMES)
def test_queues_and_channels_are_not_enabled(api: Api, operation: str) -> None:
    """They say so, with an error that AWS's model has for them."""
    api.refuses("AccessDeniedException", f"Operation {operation} is not enabled", operation)


def test_an_operation_that_does_not_exist_is_unknown(api: Api) -> None:
    """UnknownOperationException, as AWS says."""
    api.refuses("UnknownOperationException", "Frobnicate", "Frobnicate")


@pytest.mark.parametrize("resource", ["stream", "consumer"])
def test_resources_are_tagged_by_their_arn(api: Api, resource: str) -> None:
    """Streams and consumers, each with their own."""
    api.create()
    consumer = api("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="c", Tags={"t": "0"})["Consumer"]
    arn = ARN if resource == "stream" else consumer["ConsumerARN"]

    api("TagResource", ResourceARN=arn, Tags={"t": "1", "u": "2"})
    api("UntagResource", ResourceARN=arn, TagKeys=["u"])

    assert api("ListTagsForResource", ResourceARN=arn) == {"Tags": [{"Key": "t", "Value": "1"}]}
    other = consumer["ConsumerARN"] if resource == "stream" else ARN
    assert {"Key": "t", "Value": "1"} not in api("ListTagsForResource", ResourceARN=other)["Tags"]


def test_a_shorter_retention_takes_effect_at_once(api: Api) -> None:
    """What is older than it is gone."""
    api.create()
    api("IncreaseStreamRetentionPeriod", StreamName="s", RetentionPeriodHours=48)
    api.put(b"old")
    api.clock.advance(30 * 3600)
    assert api.drain() == [b"old"]

    api("DecreaseStreamRetentionPeriod", StreamName="s", RetentionPeriodHours=24)

    assert api.drain() == []


def test_policies_are_kept_as_they_were_written(api: Api) -> None:
    """Put, got, deleted once; what is not JSON is refused."""
    api.create()
    policy = '{"Version": "2012-10-17",  "Statement": []}'

    assert api("GetResourcePolicy", ResourceARN=ARN) == {"Policy": "{}"}
    api("PutResourcePolicy", ResourceARN=ARN, Policy=policy)
    assert api("GetResourcePolicy", ResourceARN=ARN) == {"Policy": policy}
    api("DeleteResourcePolicy", ResourceARN=ARN)
    api.refuses("ResourceNotFoundException", "No resource policy", "DeleteResourcePolicy", ResourceARN=ARN)
    api.refuses(
        "InvalidArgumentException", "not a JSON object", "PutResourcePolicy", ResourceARN=ARN, Policy="x"
    )


def test_a_stream_changes_its_mode(api: Api) -> None:
    """From provisioned to on demand and back, keeping its shards and records."""
    api.create(shards=3)
    api.put(b"kept", ExplicitHashKey="0")

    for mode in ("ON_DEMAND", "PROVISIONED"):
        api("UpdateStreamMode", StreamARN=ARN, StreamModeDetails={"StreamMode": mode})
        summary = api("DescribeStreamSummary", StreamName="s")["StreamDescriptionSummary"]
        assert summary["StreamModeDetails"] == {"StreamMode": mode}
        assert ("WarmThroughput" in summary) == (mode == "ON_DEMAND")
    assert api.drain() == [b"kept"]


def test_warm_throughput_needs_an_on_demand_stream_and_a_commitment(api: Api) -> None:
    """Each is said when it is what is missing."""
    api.create()
    on_demand: dict[str, Any] = {"StreamModeDetails": {"StreamMode": "ON_DEMAND"}}
    warm: dict[str, Any] = {"StreamName": "s", "WarmThroughputMiBps": 100}

    api.refuses("InvalidArgumentException", "ON_DEMAND", "UpdateStreamWarmThroughput", **warm)
    api("UpdateStreamMode", StreamARN=ARN, **on_demand)
    api.refuses("InvalidArgumentException", "UpdateAccountSettings", "UpdateStreamWarmThroughput", **warm)
    api("UpdateAccountSettings", MinimumThroughputBillingCommitment={"Status": "ENABLED"})
    answer = api("UpdateStreamWarmThroughput", **warm)

    assert answer["WarmThroughput"] == {"TargetMiBps": 100, "CurrentMiBps": 100}
    summary = api("DescribeStreamSummary", StreamName="s")["StreamDescriptionSummary"]
    assert summary["WarmThroughput"] == answer["WarmThroughput"]
    api("CreateStream", StreamName="t", WarmThroughputMiBps=5, **on_demand)
    api.refuses(
        "InvalidArgumentException",
        "AUTO",
        "CreateStream",
        StreamName="u",
        ShardCount=1,
        RecordDistributionStrategy="AUTO",
    )


def test_a_commitment_lasts_a_day_at_least(api: Api) -> None:
    """Disabled earlier, it ends when the day is over; it can be kept until then."""

    def update(status: str) -> str:
        answer = api("UpdateAccountSettings", MinimumThroughputBillingCommitment={"Status": status})
        return str(answer["MinimumThroughputBillingCommitment"]["Status"])

    def status() -> str:
        return str(api("DescribeAccountSettings")["MinimumThroughputBillingCommitment"]["Status"])

    assert status() == "DISABLED"
    assert update("ENABLED") == "ENABLED"
    assert update("DISABLED") == "ENABLED_UNTIL_EARLIEST_ALLOWED_END"
    api.restart()
    assert update("ENABLED") == "ENABLED"
    assert update("DISABLED") == "ENABLED_UNTIL_EARLIEST_ALLOWED_END"
    api.clock.advance(24 * 3600)
    assert status() == "DISABLED"


def test_the_limits_of_an_account_count_what_it_has(api: Api) -> None:
    """Open shards and on-demand streams, against the region's quota."""
    api.create(shards=3)
    api("CreateStream", StreamName="t", StreamModeDetails={"StreamMode": "ON_DEMAND"})

    limits = api("DescribeLimits")

    assert limits["OpenShardCount"] == 7
    assert limits["ShardLimit"] == 1000
    assert (limits["OnDemandStreamCount"], limits["OnDemandStreamCountLimit"]) == (1, 50)
