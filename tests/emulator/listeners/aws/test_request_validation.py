"""Constraint messages as AWS words them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from emulator.kinesis.errors import KinesisError
from emulator.listeners.aws.request_validation import check
from tests.emulator.endpoint_fixtures import Endpoint

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient


def complaint(shape: str, request: dict[str, Any]) -> str:
    with pytest.raises(KinesisError) as refused:
        check(request, shape)
    assert refused.value.code == "ValidationException"
    return refused.value.message


_SUBSCRIBE = {
    "ConsumerARN": "arn:aws:kinesis:eu-west-2:000000000000:stream/s/consumer/c:1",
    "ShardId": "shardId-0",
    "StartingPosition": {"Type": "NOW"},
}
_POSITIONS = "[AT_SEQUENCE_NUMBER, AFTER_SEQUENCE_NUMBER, TRIM_HORIZON, LATEST, AT_TIMESTAMP]"
_KEY_LENGTHS = (
    "[Member must have length less than or equal to 128, Member must have length greater than or equal to 1]"
)
_AT_LEAST_ONE = "Member must have length greater than or equal to 1"
_ENTRIES = [{"Data": b"x", "PartitionKey": "k"}, {"Data": b"x", "PartitionKey": ""}]


@pytest.mark.parametrize(
    ("shape", "request_", "value", "path", "constraint"),
    [
        (
            "DescribeStreamInput",
            {"StreamName": "bad name!"},
            "'bad name!'",
            "streamName",
            "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        ),
        ("CreateStreamInput", {}, "null", "streamName", "Member must not be null"),
        (
            "GetRecordsInput",
            {"ShardIterator": "x", "Limit": 0},
            "'0'",
            "limit",
            "Member must have value greater than or equal to 1",
        ),
        (
            "GetRecordsInput",
            {"ShardIterator": "x", "Limit": 10_001},
            "'10001'",
            "limit",
            "Member must have value less than or equal to 10000",
        ),
        ("PutRecordsInput", {"Records": _ENTRIES}, "''", "records.2.member.partitionKey", _AT_LEAST_ONE),
        ("PutRecordsInput", {"Records": []}, "'[]'", "records", _AT_LEAST_ONE),
        (
            "PutRecordInput",
            {"PartitionKey": "k", "Data": bytes(10_485_761)},
            "'java.nio.HeapByteBuffer[pos=0 lim=10485761 cap=10485761]'",
            "data",
            "Member must have length less than or equal to 10485760",
        ),
        (
            "AddTagsToStreamInput",
            {"Tags": {"": "v"}},
            "'{=v}'",
            "tags",
            f"Map keys must satisfy constraint: {_KEY_LENGTHS}",
        ),
        (
            "SubscribeToShardInput",
            _SUBSCRIBE,
            "'NOW'",
            "startingPosition.type",
            f"Member must satisfy enum value set: {_POSITIONS}",
        ),
    ],
)
def test_each_kind_of_constraint_is_worded_as_aws_words_it(
    shape: str, request_: dict[str, Any], value: str, path: str, constraint: str
) -> None:
    """The member's path, its value, and the constraint that it breaks."""
    said = f"Value {value} at '{path}' failed to satisfy constraint: {constraint}"
    assert complaint(shape, request_) == f"1 validation error detected: {said}"


def test_every_broken_constraint_is_named_up_to_ten() -> None:
    """Two are counted and joined; more than ten are cut."""
    two = complaint("GetShardIteratorInput", {"ShardId": "", "ShardIteratorType": "NOW"})
    assert two.startswith("3 validation errors detected: ")
    assert two.count("failed to satisfy constraint") == 3
    many = {"StreamName": "s", "Records": [{"Data": b"", "PartitionKey": ""}] * 40}
    assert complaint("PutRecordsInput", many).startswith("10 validation errors detected: ")


def test_a_request_in_order_passes() -> None:
    """Nothing is raised, whatever optional members are there."""
    check({"StreamName": "s", "ShardCount": 1, "Tags": {"a": ""}}, "CreateStreamInput")


def test_a_client_sees_the_message(endpoint: Endpoint, kinesis: KinesisClient) -> None:
    """boto3 without its own validation shows AWS's text."""
    with pytest.raises(
        kinesis.exceptions.ClientError, match="Member must satisfy regular expression pattern"
    ):
        kinesis.create_stream(StreamName="no spaces please", ShardCount=1)
