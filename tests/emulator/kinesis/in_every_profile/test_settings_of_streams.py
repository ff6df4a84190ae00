"""Tags, retention, encryption, monitoring: what is set is what is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.emulator.kinesis.engine_calls import Calls


def test_tags_are_added_replaced_listed_in_pages_and_removed(api: Calls) -> None:
    """Sorted by key; at most fifty; only characters that AWS takes."""
    api.create(Tags={"b": "1"})
    api("AddTagsToStream", StreamName=api.name, Tags={"a": "2", "b": "3", "c": ""})

    first = api("ListTagsForStream", StreamName=api.name, Limit=2)
    rest = api("ListTagsForStream", StreamName=api.name, ExclusiveStartTagKey="b")

    assert first == {"Tags": [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": "3"}], "HasMoreTags": True}
    assert rest == {"Tags": [{"Key": "c", "Value": ""}], "HasMoreTags": False}
    api("RemoveTagsFromStream", StreamName=api.name, TagKeys=["a", "nothing"])
    assert [tag["Key"] for tag in api("ListTagsForStream", StreamName=api.name)["Tags"]] == ["b", "c"]
    many = {str(i): "" for i in range(49)}
    api.refuses(
        "InvalidArgumentException", "more than 50 tags", "AddTagsToStream", StreamName=api.name, Tags=many
    )
    api.refuses(
        "InvalidArgumentException",
        "invalid characters",
        "AddTagsToStream",
        StreamName=api.name,
        Tags={"a": "<b>"},
    )


def test_retention_goes_up_and_down_within_its_bounds(api: Calls) -> None:
    """24 hours to 365 days, each direction by its own operation, in AWS's words."""
    api.create()
    increase, decrease = "IncreaseStreamRetentionPeriod", "DecreaseStreamRetentionPeriod"

    api(increase, StreamName=api.name, RetentionPeriodHours=8760)
    api(decrease, StreamName=api.name, RetentionPeriodHours=48)

    summary = api("DescribeStreamSummary", StreamName=api.name)["StreamDescriptionSummary"]
    assert summary["RetentionPeriodHours"] == 48
    for operation, hours, words in (
        (increase, 47, "can not be shorter than existing retention period"),
        (decrease, 49, "can not be longer than existing retention period"),
        (decrease, 23, "is too short"),
        (increase, 8761, "is too long"),
    ):
        api.refuses(
            "InvalidArgumentException", words, operation, StreamName=api.name, RetentionPeriodHours=hours
        )


def test_encryption_is_shown_while_it_is_on(api: Calls) -> None:
    """With its key; NONE is no type to start with."""
    api.create()
    api("StartStreamEncryption", StreamName=api.name, EncryptionType="KMS", KeyId="alias/k")

    described = api("DescribeStream", StreamName=api.name)["StreamDescription"]
    api("StopStreamEncryption", StreamName=api.name, EncryptionType="KMS", KeyId="alias/k")
    after = api("DescribeStream", StreamName=api.name)["StreamDescription"]

    assert (described["EncryptionType"], described["KeyId"]) == ("KMS", "alias/k")
    assert after["EncryptionType"] == "NONE"
    assert "KeyId" not in after
    api.refuses(
        "InvalidArgumentException",
        "NONE",
        "StartStreamEncryption",
        StreamName=api.name,
        EncryptionType="NONE",
        KeyId="k",
    )


def test_metrics_are_switched_on_and_off(api: Calls) -> None:
    """The answer has those before and those after; ALL is every one."""
    api.create()

    one = api("EnableEnhancedMonitoring", StreamName=api.name, ShardLevelMetrics=["IncomingBytes"])
    every = api("EnableEnhancedMonitoring", StreamName=api.name, ShardLevelMetrics=["ALL"])
    none = api("DisableEnhancedMonitoring", StreamName=api.name, ShardLevelMetrics=["ALL"])

    assert (one["CurrentShardLevelMetrics"], one["DesiredShardLevelMetrics"]) == ([], ["IncomingBytes"])
    assert len(every["DesiredShardLevelMetrics"]) == 7
    assert none["CurrentShardLevelMetrics"] == every["DesiredShardLevelMetrics"]
    assert none["DesiredShardLevelMetrics"] == []
