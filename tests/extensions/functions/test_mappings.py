"""Event source mappings as boto3 makes them, with functions in processes and queues of SQS."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rdss_sandbox.client import Client
from tests.extensions.functions.conftest import Aws
from tests.waiting import wait_until

STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/{}"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:{}"
EVENTS = "arn:aws:events:us-east-1:000000000000:event-bus/default"
PRINTS = """
import base64, json
def handler(event, context):
    for record in event["Records"]:
        body = record["body"] if "body" in record else base64.b64decode(record["kinesis"]["data"]).decode()
        if body == "poison":
            raise ValueError(body)
        print("got", body)
"""
REPORTS = """
def handler(event, context):
    failed = []
    for record in event["Records"]:
        print("got", record["body"], record["attributes"]["ApproximateReceiveCount"])
        if record["body"] == "poison" and record["attributes"]["ApproximateReceiveCount"] == "1":
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}
"""


def got(aws: Aws, function: str) -> list[str]:
    """What the function printed behind ``got``, in order."""
    group = f"/aws/lambda/{function}"
    logs = aws.client("logs")
    if group not in [each["logGroupName"] for each in logs.describe_log_groups()["logGroups"]]:
        return []
    found = logs.filter_log_events(logGroupName=group, filterPattern='"got "')
    return [each["message"].strip().removeprefix("got ") for each in found["events"]]


def make_stream(aws: Aws, name: str, data: list[str]) -> str:
    kinesis = aws.client("kinesis")
    kinesis.create_stream(StreamName=name, ShardCount=1)
    kinesis.get_waiter("stream_exists").wait(StreamName=name)
    if data:
        records = [{"Data": each, "PartitionKey": "k"} for each in data]
        kinesis.put_records(StreamName=name, Records=records)
    return STREAM.format(name)


def settle(aws: Aws, mapping: dict[str, Any], state: str = "Enabled") -> dict[str, Any]:
    """The mapping, once it is in a state."""

    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = aws.lambda_.get_event_source_mapping(UUID=mapping["UUID"])
        return found if found["State"] == state else None

    return wait_until(look)


def test_a_mapping_of_a_stream_is_made_changed_paused_and_deleted(aws: Aws) -> None:
    """With the fields, defaults and states of AWS's answers."""
    aws.make("life", PRINTS)
    source = make_stream(aws, "life", ["a"])
    made = aws.lambda_.create_event_source_mapping(
        FunctionName="life", EventSourceArn=source, StartingPosition="TRIM_HORIZON"
    )
    del made["ResponseMetadata"], made["UUID"], made["EventSourceMappingArn"], made["LastModified"]
    assert made == {
        "BatchSize": 100,
        "BisectBatchOnFunctionError": False,
        "DestinationConfig": {"OnFailure": {}},
        "EventSourceArn": source,
        "FunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:life",
        "FunctionResponseTypes": [],
        "LastProcessingResult": "No records processed",
        "MaximumBatchingWindowInSeconds": 0,
        "MaximumRecordAgeInSeconds": -1,
        "MaximumRetryAttempts": -1,
        "ParallelizationFactor": 1,
        "StartingPosition": "TRIM_HORIZON",
        "State": "Creating",
        "StateTransitionReason": "User action",
        "TumblingWindowInSeconds": 0,
    }
    (mapping,) = aws.lambda_.list_event_source_mappings(FunctionName="life")["EventSourceMappings"]
    settle(aws, mapping)
    wait_until(lambda: got(aws, "life") == ["a"])
    wait_until(lambda: settle(aws, mapping)["LastProcessingResult"] == "OK")
    changed = aws.lambda_.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    assert changed["State"] == "Disabling"
    settle(aws, mapping, "Disabled")
    aws.client("kinesis").put_record(StreamName="life", Data="b", PartitionKey="k")
    assert aws.lambda_.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)["State"] == "Enabling"
    wait_until(lambda: got(aws, "life") == ["a", "b"])
    settle(aws, mapping)
    assert aws.lambda_.delete_event_source_mapping(UUID=mapping["UUID"])["State"] == "Deleting"

    def is_gone() -> bool:
        return aws.lambda_.list_event_source_mappings(FunctionName="life")["EventSourceMappings"] == []

    wait_until(is_gone)


@pytest.mark.parametrize("service", ["sqs", "sns", "s3"])
def test_what_is_given_up_is_told_to_a_destination(aws: Aws, service: str) -> None:
    """With the shard, the sequence numbers and the times; a bucket gets the records too."""
    name = f"gives-up-{service}"
    sqs, url = aws.client("sqs"), ""
    destination = f"arn:aws:s3:::{name}"
    if service == "s3":
        aws.client("s3").create_bucket(Bucket=name)
    else:
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
        destination = QUEUE.format(name)
    if service == "sns":
        destination = aws.client("sns").create_topic(Name=name)["TopicArn"]
        aws.client("sns").subscribe(TopicArn=destination, Protocol="sqs", Endpoint=QUEUE.format(name))
    aws.make(name, PRINTS)
    aws.lambda_.create_event_source_mapping(
        FunctionName=name,
        EventSourceArn=make_stream(aws, name, ["a", "poison", "b"]),
        StartingPosition="TRIM_HORIZON",
        MaximumRetryAttempts=0,
        BisectBatchOnFunctionError=True,
        DestinationConfig={"OnFailure": {"Destination": destination}},
    )
    wait_until(lambda: got(aws, name)[-1:] == ["b"])
    document = wait_until(lambda: read_document(aws, service, name, url))
    assert document["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert document["KinesisBatchInfo"]["batchSize"] == 1
    assert document["KinesisBatchInfo"]["streamArn"] == STREAM.format(name)
    assert ("payload" in document) is (service == "s3")


def read_document(aws: Aws, service: str, name: str, url: str) -> dict[str, Any] | None:
    """What the destination was told, if it was."""
    if service == "s3":
        s3 = aws.client("s3")
        keys = [each["Key"] for each in s3.list_objects_v2(Bucket=name).get("Contents", [])]
        found = [s3.get_object(Bucket=name, Key=key)["Body"].read() for key in keys]
    else:
        found = [each["Body"] for each in aws.client("sqs").receive_message(QueueUrl=url).get("Messages", [])]
    if not found:
        return None
    document: dict[str, Any] = json.loads(found[0])
    return json.loads(document["Message"]) if service == "sns" else document


def test_a_queue_is_emptied_by_what_succeeds_and_keeps_what_fails(aws: Aws) -> None:
    """A message that is reported as failed comes again after its visibility time-out; no other does."""
    sqs = aws.client("sqs")
    url = sqs.create_queue(QueueName="work", Attributes={"VisibilityTimeout": "1"})["QueueUrl"]
    aws.make("works", REPORTS, Timeout=1)
    made = aws.lambda_.create_event_source_mapping(
        FunctionName="works",
        EventSourceArn=QUEUE.format("work"),
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )
    assert made["BatchSize"] == 10
    assert "StartingPosition" not in made
    for body in ("a", "poison", "b"):
        sqs.send_message(QueueUrl=url, MessageBody=body)
    wait_until(lambda: "poison 2" in got(aws, "works"))
    assert sorted(got(aws, "works")) == ["a 1", "b 1", "poison 1", "poison 2"]
    attributes = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]

    def is_empty() -> bool:
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=attributes)["Attributes"]
        return set(found.values()) == {"0"}

    wait_until(is_empty)
    aws.lambda_.delete_event_source_mapping(UUID=made["UUID"])


def test_a_fifo_queue_keeps_the_order_of_its_groups(aws: Aws) -> None:
    sqs = aws.client("sqs")
    url = sqs.create_queue(QueueName="ordered.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    for number in range(12):
        sqs.send_message(
            QueueUrl=url,
            MessageBody=f"{number % 2}:{number}",
            MessageGroupId=str(number % 2),
            MessageDeduplicationId=str(number),
        )
    aws.make("ordered", PRINTS)
    made = aws.lambda_.create_event_source_mapping(
        FunctionName="ordered",
        EventSourceArn=QUEUE.format("ordered.fifo"),
        ScalingConfig={"MaximumConcurrency": 2},
    )
    wait_until(lambda: len(got(aws, "ordered")) == 12)
    for group in "01":
        numbers = [int(each[2:]) for each in got(aws, "ordered") if each[0] == group]
        assert numbers == sorted(numbers)
    aws.lambda_.delete_event_source_mapping(UUID=settle(aws, made)["UUID"])


def test_a_consumer_of_its_own_throughput_is_a_source(aws: Aws) -> None:
    """By the ARN of the consumer."""
    source = make_stream(aws, "fans", ["a"])
    kinesis = aws.client("kinesis")
    consumer = kinesis.register_stream_consumer(StreamARN=source, ConsumerName="c")["Consumer"]["ConsumerARN"]
    aws.make("fans", PRINTS)
    made = aws.lambda_.create_event_source_mapping(
        FunctionName="fans", EventSourceArn=consumer, StartingPosition="TRIM_HORIZON"
    )
    assert made["EventSourceArn"] == consumer
    wait_until(lambda: got(aws, "fans") == ["a"])


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"EventSourceArn": STREAM.format("none")}, "InvalidParameterValueException"),
        ({"EventSourceArn": "arn:aws:sns:us-east-1:000000000000:t"}, "InvalidParameterValueException"),
        ({"EventSourceArn": QUEUE.format("none")}, "InvalidParameterValueException"),
        ({"EventSourceArn": "arn:aws:kinesis:us-east-1:000000000000:none"}, "InvalidParameterValueException"),
        ({"EventSourceArn": QUEUE.format("narrow.fifo"), "StartingPosition": None,
          "MaximumBatchingWindowInSeconds": 1}, "InvalidParameterValueException"),
        ({"StartingPosition": None}, "InvalidParameterValueException"),
        ({"FunctionName": "nobody"}, "InvalidParameterValueException"),
        ({"BatchSize": 10_001}, "ValidationException"),
        ({"ParallelizationFactor": 11}, "ValidationException"),
        ({"MaximumRetryAttempts": 10_001}, "ValidationException"),
        ({"TumblingWindowInSeconds": 30, "ParallelizationFactor": 2}, "InvalidParameterValueException"),
        ({"StartingPosition": "AT_TIMESTAMP"}, "InvalidParameterValueException"),
        ({"FilterCriteria": {"Filters": [{"Pattern": "{"}]}}, "InvalidParameterValueException"),
        ({"FilterCriteria": {"Filters": [{"Pattern": '{"data": ["a"]}'}]}}, "InvalidParameterValueException"),
        ({"DestinationConfig": {"OnFailure": {"Destination": EVENTS}}}, "InvalidParameterValueException"),
    ],
)  # fmt: skip
def test_what_cannot_be_mapped_is_refused(aws: Aws, settings: dict[str, Any], code: str) -> None:
    """With AWS's codes, and no mapping is left."""
    if "refused" not in [each["FunctionName"] for each in aws.lambda_.list_functions()["Functions"]]:
        aws.make("refused", PRINTS)
        make_stream(aws, "refused", [])
        aws.client("sqs").create_queue(QueueName="narrow.fifo", Attributes={"FifoQueue": "true"})
    usual = {
        "FunctionName": "refused", "EventSourceArn": STREAM.format("refused"), "StartingPosition": "LATEST",
    }  # fmt: skip
    asked = {name: value for name, value in {**usual, **settings}.items() if value is not None}
    with pytest.raises(ClientError) as error:
        aws.lambda_.create_event_source_mapping(**asked)
    assert error.value.response["Error"]["Code"] == code
    assert aws.lambda_.list_event_source_mappings(FunctionName="refused")["EventSourceMappings"] == []


def test_a_queue_that_shows_messages_before_the_function_is_done_is_refused(aws: Aws) -> None:
    """In AWS's words; as long as the function's time-out is long enough."""
    aws.make("slow", PRINTS, Timeout=20)
    for hidden in ("19", "20"):
        aws.client("sqs").create_queue(QueueName=f"hidden-{hidden}", Attributes={"VisibilityTimeout": hidden})
    source = "arn:aws:sqs:us-east-1:000000000000:hidden-{}"
    with pytest.raises(ClientError) as error:
        aws.lambda_.create_event_source_mapping(FunctionName="slow", EventSourceArn=source.format(19))
    assert error.value.response["Error"] == {
        "Code": "InvalidParameterValueException",
        "Message": "Queue visibility timeout: 19 seconds is less than Function timeout: 20 seconds",
    }
    aws.lambda_.create_event_source_mapping(FunctionName="slow", EventSourceArn=source.format(20))


def test_a_second_mapping_of_a_function_and_its_source_is_refused(aws: Aws) -> None:
    aws.make("twice", PRINTS)
    asked = {
        "FunctionName": "twice",
        "EventSourceArn": make_stream(aws, "twice", []),
        "StartingPosition": "LATEST",
    }
    aws.lambda_.create_event_source_mapping(**asked)
    with pytest.raises(ClientError, match="already exists"):
        aws.lambda_.create_event_source_mapping(**asked)


def test_a_snapshot_ends_no_invocation_and_a_load_hands_nothing_over_twice(aws: Aws) -> None:
    """A handler that works while it is saved goes on, and each mapping runs once after the load."""
    source = make_stream(aws, "saved", [])
    aws.make("saved", PRINTS)
    aws.make("works-on", "import time\ndef handler(event, context):\n    time.sleep(1)\n    return 'whole'\n")
    mapping = aws.lambda_.create_event_source_mapping(
        FunctionName="saved", EventSourceArn=source, StartingPosition="TRIM_HORIZON"
    )
    settle(aws, mapping)
    with Client(aws.emulator.control) as control, ThreadPoolExecutor(1) as threads:
        working = threads.submit(aws.invoke, "works-on")
        wait_until(lambda: "/aws/lambda/works-on" in str(aws.client("logs").describe_log_groups()))
        control.snapshots.save("functions")
        assert working.result() == (b'"whole"', "")
        control.snapshots.load("functions")
    aws.client("kinesis").put_records(
        StreamName="saved", Records=[{"Data": str(each), "PartitionKey": "k"} for each in range(50)]
    )
    wait_until(lambda: len(got(aws, "saved")) >= 50)
    aws.lambda_.update_event_source_mapping(UUID=settle(aws, mapping)["UUID"], Enabled=False)
    settle(aws, mapping, "Disabled")
    assert got(aws, "saved") == list(map(str, range(50)))
