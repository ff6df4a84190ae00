"""What clients and peers' suites found to differ from AWS: each request, and AWS's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.emulator.endpoint_fixtures import Endpoint
from tests.emulator.listeners.aws.test_protocols import call

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

PRESIGNED = {
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": "test/20260101/eu-west-2/kinesis/aws4_request",
    "X-Amz-Signature": "0",
    "X-Amz-SignedHeaders": "host",
    "X-Amz-Date": "20260101T000000Z",
}


def test_a_stream_is_made_without_a_number_of_shards(kinesis: KinesisClient) -> None:
    """Four of them, and it can be resharded by hand."""
    kinesis.create_stream(StreamName="z")
    described = kinesis.describe_stream(StreamName="z")["StreamDescription"]
    assert described["StreamStatus"] == "ACTIVE"
    assert len(described["Shards"]) == 4
    assert described["StreamModeDetails"] == {"StreamMode": "PROVISIONED"}
    kinesis.update_shard_count(StreamName="z", TargetShardCount=2, ScalingType="UNIFORM_SCALING")
    with pytest.raises(kinesis.exceptions.InvalidArgumentException, match="ShardCount must be set"):
        kinesis.create_stream(StreamName="y", StreamModeDetails={"StreamMode": "PROVISIONED"})


def test_every_answer_of_kinesis_has_its_ids(endpoint: Endpoint, kinesis: KinesisClient) -> None:
    """A good one, a refusal, and a subscription; no two have the same."""
    kinesis.create_stream(StreamName="s", ShardCount=1)
    arn = kinesis.describe_stream_summary(StreamName="s")["StreamDescriptionSummary"]["StreamARN"]
    consumer = kinesis.register_stream_consumer(StreamARN=arn, ConsumerName="c")["Consumer"]
    place = {"ShardId": "shardId-000000000000", "StartingPosition": {"Type": "LATEST"}}
    subscribed = kinesis.subscribe_to_shard(ConsumerARN=consumer["ConsumerARN"], **place)
    subscribed["EventStream"].close()
    told = [subscribed["ResponseMetadata"]["HTTPHeaders"], call(endpoint, "ListStreams", {}).headers]
    told.append(call(endpoint, "DescribeStream", {"StreamName": "nowhere"}).headers)
    told.append(endpoint.http.get("/", headers=endpoint.headers("ListStreams")).headers)
    for headers in told:
        assert headers["x-amz-request-id"] == headers["x-amzn-requestid"]
        assert len(headers["x-amz-id-2"]) == 96
    assert len({headers["x-amz-id-2"] for headers in told}) == len(told)
    with pytest.raises(ClientError) as refused:
        kinesis.describe_stream(StreamName="nowhere")
    metadata = refused.value.response["ResponseMetadata"]
    assert metadata["RequestId"] == metadata["HTTPHeaders"]["x-amzn-requestid"]


def test_an_iterator_is_read_in_quotation_marks(kinesis: KinesisClient) -> None:
    """As a client that copies it out of JSON sends it."""
    kinesis.create_stream(StreamName="s", ShardCount=1)
    kinesis.put_record(StreamName="s", Data=b"data", PartitionKey="k")
    place = {"StreamName": "s", "ShardId": "shardId-000000000000", "ShardIteratorType": "TRIM_HORIZON"}
    iterator = kinesis.get_shard_iterator(**place)["ShardIterator"]
    answer = kinesis.get_records(ShardIterator=f'"{iterator}"')
    assert [record["Data"] for record in answer["Records"]] == [b"data"]
    for garbled in (f'"{iterator}', f'""{iterator}""', '""', '"'):
        with pytest.raises(kinesis.exceptions.InvalidArgumentException, match="Invalid ShardIterator"):
            kinesis.get_records(ShardIterator=garbled)


def test_a_time_that_is_not_given(kinesis: KinesisClient) -> None:
    """AT_TIMESTAMP needs one."""
    kinesis.create_stream(StreamName="s", ShardCount=1)
    words = (
        r"Must specify timestampInMillis parameter for iterator of type AT_TIMESTAMP\. "
        r"Current request has no timestamp parameter\.$"
    )
    with pytest.raises(kinesis.exceptions.InvalidArgumentException, match=words):
        kinesis.get_shard_iterator(StreamName="s", ShardId="0", ShardIteratorType="AT_TIMESTAMP")


@pytest.mark.parametrize(
    "missing",
    [
        ("X-Amz-Credential",),
        ("X-Amz-Signature", "X-Amz-Date"),
        ("X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date"),
    ],
)
def test_a_query_that_lacks_part_of_its_signature(endpoint: Endpoint, missing: tuple[str, ...]) -> None:
    """Each part is named; a whole one is taken."""
    headers = endpoint.headers("ListStreams")
    del headers["authorization"]

    def ask(query: dict[str, str]) -> Any:
        return endpoint.http.post("/", params=query, headers=headers, content=b"{}")

    assert ask(PRESIGNED).status_code == 200
    response = ask({name: value for name, value in PRESIGNED.items() if name not in missing})
    assert response.status_code == 400
    lacks = "".join(f"AWS query-string parameters must include '{name}'. " for name in missing)
    assert response.json() == {
        "__type": "IncompleteSignatureException",
        "message": f"{lacks}Re-examine the query-string parameters.",
    }


def test_a_list_of_texts_is_named_whole(endpoint: Endpoint) -> None:
    """One constraint that any of them breaks is said once, with all of them."""
    long = "a" * 129
    response = call(endpoint, "RemoveTagsFromStream", {"StreamName": "s", "TagKeys": ["a", long, "b"]})
    assert response.json() == {
        "__type": "ValidationException",
        "message": f"1 validation error detected: Value '[a, {long}, b]' at 'tagKeys' failed to satisfy "
        "constraint: Member must satisfy constraint: [Member must have length less than or equal to 128, "
        "Member must have length greater than or equal to 1]",
    }
    many = [str(i) for i in range(51)]
    response = call(endpoint, "RemoveTagsFromStream", {"StreamName": "s", "TagKeys": many})
    assert f"Value '[{', '.join(many)}]' at 'tagKeys'" in response.json()["message"]


def test_a_record_that_is_too_large_is_named_before_the_whole_is(kinesis: KinesisClient) -> None:
    """Five of a mebibyte and a key each: the first is refused by its place, and none is kept."""
    kinesis.create_stream(StreamName="s", ShardCount=1)
    records = [{"Data": bytes(1 << 20), "PartitionKey": "key"}] * 5
    with pytest.raises(ClientError, match=r"'records\.1\.member\.data' failed") as refused:
        kinesis.put_records(StreamName="s", Records=records)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    place = {"StreamName": "s", "ShardId": "0", "ShardIteratorType": "TRIM_HORIZON"}
    iterator = kinesis.get_shard_iterator(**place)["ShardIterator"]
    assert kinesis.get_records(ShardIterator=iterator)["Records"] == []


def test_a_policy_that_is_not_there_is_not_deleted(kinesis: KinesisClient) -> None:
    """The words of the page that compares the answers."""
    kinesis.create_stream(StreamName="s", ShardCount=1)
    arn = kinesis.describe_stream_summary(StreamName="s")["StreamDescriptionSummary"]["StreamARN"]
    with pytest.raises(
        kinesis.exceptions.ResourceNotFoundException,
        match=f"No resource policy found for resource ARN {arn}$",
    ):
        kinesis.delete_resource_policy(ResourceARN=arn)
