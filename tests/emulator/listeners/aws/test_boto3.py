"""An unmodified boto3 program, with ``AWS_ENDPOINT_URL`` set and nothing else changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3
import pytest

from emulator.rng import new_uuid
from tests.emulator.endpoint_fixtures import Endpoint

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient


@pytest.fixture
def environment(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person exports before running the program."""
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint.url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "eu-west-2",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def session(environment: None) -> boto3.session.Session:
    return boto3.session.Session()


def read_shard(kinesis: KinesisClient, shard: str) -> list[bytes]:
    """Every record of a shard, to the end of a closed one or until nothing more is there."""
    iterator = kinesis.get_shard_iterator(StreamName="s", ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    place, data = iterator["ShardIterator"], []
    while place:
        answer = kinesis.get_records(ShardIterator=place)
        data += [record["Data"] for record in answer["Records"]]
        place = answer.get("NextShardIterator") if answer["MillisBehindLatest"] or answer["Records"] else None
    return data


@pytest.mark.usefixtures("environment")
def test_a_stream_is_split_and_read_parent_first(session: boto3.session.Session) -> None:
    """Create, put, split, put again; parent then children give every record once and in order."""
    kinesis = session.client("kinesis")
    kinesis.create_stream(StreamName="s", ShardCount=1)
    kinesis.get_waiter("stream_exists").wait(StreamName="s")
    before = [b"before-%d" % i for i in range(40)]
    kinesis.put_records(
        StreamName="s", Records=[{"Data": data, "PartitionKey": data.decode()} for data in before]
    )
    (parent,) = kinesis.list_shards(StreamName="s")["Shards"]
    kinesis.split_shard(StreamName="s", ShardToSplit=parent["ShardId"], NewStartingHashKey=str(2**127))
    after = [b"after-%d" % i for i in range(40)]
    for data in after:
        kinesis.put_record(StreamName="s", Data=data, PartitionKey=data.decode())
    assert read_shard(kinesis, parent["ShardId"]) == before
    children = [
        shard["ShardId"]
        for shard in kinesis.list_shards(StreamName="s")["Shards"]
        if shard.get("ParentShardId") == parent["ShardId"]
    ]
    assert len(children) == 2
    assert sorted(data for child in children for data in read_shard(kinesis, child)) == sorted(after)
    kinesis.close()


def test_the_other_services_answer(session: boto3.session.Session) -> None:
    """S3, DynamoDB, SQS, SNS, STS, SSM and CloudWatch: a call or two each."""
    name = f"x-{new_uuid()}"
    clients = {s: session.client(s) for s in ("s3", "dynamodb", "sqs", "sns", "sts", "ssm", "cloudwatch")}
    clients["s3"].create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-west-2"})
    clients["s3"].put_object(Bucket=name, Key="k", Body=b"v")
    assert clients["s3"].list_objects_v2(Bucket=name)["KeyCount"] == 1
    assert clients["s3"].get_object(Bucket=name, Key="k")["Body"].read() == b"v"
    clients["dynamodb"].create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "ID", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "ID", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    clients["dynamodb"].put_item(TableName=name, Item={"ID": {"S": "1"}})
    found = clients["dynamodb"].get_item(TableName=name, Key={"ID": {"S": "1"}}, ConsistentRead=True)
    assert found["Item"] == {"ID": {"S": "1"}}
    queue = clients["sqs"].create_queue(QueueName=name)["QueueUrl"]
    clients["sqs"].send_message(QueueUrl=queue, MessageBody="hello")
    received = clients["sqs"].receive_message(QueueUrl=queue, WaitTimeSeconds=5)
    assert received["Messages"][0]["Body"] == "hello"
    topic = clients["sns"].create_topic(Name=name)["TopicArn"]
    assert clients["sns"].publish(TopicArn=topic, Message="hello")["MessageId"]
    assert clients["sts"].get_caller_identity()["Account"] == "000000000000"
    clients["ssm"].put_parameter(Name=name, Value="v", Type="SecureString")
    assert clients["ssm"].get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"] == "v"
    clients["cloudwatch"].put_metric_data(Namespace="n", MetricData=[{"MetricName": "m", "Value": 1.0}])
    for client in clients.values():
        client.close()
