"""Rules about handlers: each accuses handlers with its mistake, and no right one of another shape."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest

from rdss_sandbox.client import Client
from rdss_sandbox.shapes.diagnosis import Finding
from rdss_sandbox.shapes.faults import NewFault
from schemas.rdss.samples import Samples
from tests.extensions.functions.conftest import Aws
from tests.extensions.functions.test_mappings import make_stream, settle
from tests.waiting import wait_until

SEEDS = range(4)
_HEAD = """
import base64, json, os, uuid, boto3
kinesis, sqs, s3 = (boto3.client(each) for each in ("kinesis", "sqs", "s3"))
seen = set()
def read(event):
    for each in event["Records"]:
        yield each, json.loads(base64.b64decode(each["kinesis"]["data"]))
def put(message, stream="handled"):
    kinesis.put_record(StreamName=stream, Data=json.dumps(message), PartitionKey="k")
def new(message, **header):
    said = {**message["messageHeader"], "messageId": str(uuid.uuid4()), **header}
    return {**message, "messageHeader": said}
def check(message):
    if message["messageHeader"]["messageType"] == "Nonsense":
        raise ValueError("nonsense")
"""


def handler(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return f"{_HEAD}def handler(event, context):\n{lines}\n"


SWALLOWS = {
    "passes over what it cannot read": """
for record, message in read(event):
    try:
        check(message)
        put(message)
    except ValueError:
        pass
""",
    "prints the traceback and goes on": """
import traceback
for record, message in read(event):
    try:
        check(message)
        s3.put_object(Bucket="kept", Key=message["messageHeader"]["messageId"], Body=b"x")
    except ValueError:
        traceback.print_exc()
""",
    "stops at the first, and answers as if it was done": """
try:
    for record, message in read(event):
        check(message)
        put(message)
except ValueError as error:
    print("[ERROR]", error)
return {"batchItemFailures": []}
""",
}
TELLS = {
    "raises": """
for record, message in read(event):
    check(message)
    put(message)
""",
    "names the record": """
failed = []
for record, message in read(event):
    try:
        check(message)
        put(message)
    except ValueError:
        failed.append({"itemIdentifier": record["kinesis"]["sequenceNumber"]})
return {"batchItemFailures": failed[:1]}
""",
    "puts it on a queue for what is rejected, and logs it": """
for record, message in read(event):
    try:
        check(message)
        put(message)
    except ValueError as error:
        print("[ERROR]", error)
        url = sqs.get_queue_url(QueueName="rejected")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody=json.dumps(message))
""",
    "keeps all as it is, valid or not": """
for record, message in read(event):
    key = record["kinesis"]["sequenceNumber"]
    s3.put_object(Bucket="kept", Key=key, Body=base64.b64decode(record["kinesis"]["data"]))
""",
    "counts, and writes nothing of a record": """
s3.put_object(Bucket="kept", Key="count", Body=str(len(event["Records"])).encode())
""",
    "takes one kind of message alone": """
for record, message in read(event):
    if message["messageHeader"]["messageType"] == "MetadataCreate":
        put(message)
    else:
        print("[ERROR] none of mine")
""",
    "logs a traceback of a try that it makes again": """
import traceback
for record, message in read(event):
    try:
        raise ConnectionError
    except ConnectionError:
        traceback.print_exc()
    put(message)
""",
}
DOUBLES = {
    "gives each message a new id, and names the record": """
for record, message in read(event):
    put(new(message, correlationId=message["messageHeader"]["messageId"]))
""",
    "gives each message a new id": """
for record, message in read(event):
    put({"messageHeader": {"messageId": str(uuid.uuid4()), "messageType": "MetadataCreate"}})
""",
    "keys objects by what is drawn": """
for record, message in read(event):
    s3.put_object(Bucket="kept", Key=uuid.uuid4().hex, Body=json.dumps(message).encode())
""",
    "sends new messages to a queue": """
url = sqs.get_queue_url(QueueName="jobs")["QueueUrl"]
for record, message in read(event):
    made = new(message, correlationId=message["messageHeader"]["messageId"])
    sqs.send_message(QueueUrl=url, MessageBody=json.dumps(made))
""",
}
SAME_AGAIN = {
    "forwards messages under their ids": "for record, message in read(event):\n    put(message)",
    "makes ids of ids": """
for record, message in read(event):
    own = str(uuid.uuid5(uuid.NAMESPACE_URL, message["messageHeader"]["messageId"]))
    put(new(message, messageId=own, correlationId=message["messageHeader"]["messageId"]))
""",
    "keys objects by the sequence number": """
for record, message in read(event):
    s3.put_object(Bucket="kept", Key=record["kinesis"]["sequenceNumber"], Body=json.dumps(message).encode())
""",
    "remembers what it is done with": """
for record, message in read(event):
    if message["messageHeader"]["messageId"] not in seen:
        seen.add(message["messageHeader"]["messageId"])
        put(new(message, correlationId=message["messageHeader"]["messageId"]))
""",
    "goes on where it failed": """
for record, message in read(event):
    if message["messageHeader"]["messageId"] not in seen:
        seen.add(message["messageHeader"]["messageId"])
        put(new(message, correlationId=message["messageHeader"]["messageId"]))
        if len(seen) in (2, 4):
            raise OSError("once")
""",
    "tells of each invocation, not of records": """
put({"messageHeader": {"messageId": str(uuid.uuid4()), "messageType": "MetadataCreate"}})
""",
    "writes nothing": "return None",
}


@pytest.fixture(scope="module", autouse=True)
def _places(aws: Aws) -> None:
    make_stream(aws, "handled", [])
    for name in ("rejected", "jobs"):
        aws.client("sqs").create_queue(QueueName=name)
    aws.client("s3").create_bucket(Bucket="kept")


def event_of(seed: int, source: str, *, bad: bool) -> bytes:
    """Six messages of a stream; the fourth has a type that there is not, where one is to be bad."""
    samples = Samples(seed + 1000 * bad)
    messages: list[Any] = [samples.message() for _ in range(6)]
    if bad:
        messages[3]["messageHeader"]["messageType"] = "Nonsense"
    records = [_record(each, at + 10 * bad, source) for at, each in enumerate(messages)]
    return json.dumps({"Records": records}).encode()


def _record(message: dict[str, Any], at: int, source: str) -> dict[str, Any]:
    data = base64.b64encode(json.dumps(message).encode()).decode()
    kinesis = {"data": data, "partitionKey": "k", "sequenceNumber": f"{at:056d}"}
    return {"kinesis": kinesis, "eventSourceARN": f"arn:aws:kinesis:us-east-1:000000000000:stream/{source}"}


def run(aws: Aws, source: str, events: Sequence[bytes], rule: str) -> list[Finding]:
    """What a rule finds about a handler that gets these events, in the order of their streams."""
    name = f"rule-{abs(hash((source, events[0])))}"
    aws.make(name, handler(source), Timeout=20)
    for event in events:
        aws.invoke(name, event)
    with Client(aws.emulator.control) as control:
        found = control.diagnosis().findings
    return sorted((each for each in found if each.client == name and each.rule == rule), key=_stream_of)


def _stream_of(finding: Finding) -> str:
    return str(finding.stream)


def bad_batch_of_each_seed() -> list[bytes]:
    """For each seed a stream with a batch that is right and one that is not."""
    return [event_of(seed, f"s{seed}", bad=bad) for seed in SEEDS for bad in (False, True)]


def same_batch_of_each_seed(times: int) -> list[bytes]:
    """For each seed a stream whose batch comes so many times."""
    return [event_of(seed, f"s{seed}", bad=False) for seed in SEEDS for _ in range(times)]


@pytest.mark.parametrize("shape", SWALLOWS)
def test_a_handler_that_swallows_a_failure_is_found(aws: Aws, shape: str) -> None:
    """Whatever the seed: once for its source, with the record and the reason."""
    findings = run(aws, SWALLOWS[shape], bad_batch_of_each_seed(), "swallowed-failure")
    assert [each.stream for each in findings] == [f"s{seed}" for seed in SEEDS]
    for found in findings:
        assert found.evidence["numbers"][0] == f"{13:056d}"
        assert found.harm == "loses"
        assert "failed; the first: " in found.said


@pytest.mark.parametrize("shape", TELLS)
def test_a_handler_that_tells_of_failures_is_not_accused(aws: Aws, shape: str) -> None:
    assert run(aws, TELLS[shape], bad_batch_of_each_seed(), "swallowed-failure") == []


@pytest.mark.parametrize("shape", DOUBLES)
def test_a_handler_that_writes_a_retried_batch_again_is_found(aws: Aws, shape: str) -> None:
    findings = run(aws, DOUBLES[shape], same_batch_of_each_seed(2), "retried-batch-written-twice")
    assert [each.stream for each in findings] == [f"s{seed}" for seed in SEEDS]
    for found in findings:
        assert "6 records" in found.said
        assert len(found.evidence["written"]) == 5


@pytest.mark.parametrize("shape", SAME_AGAIN)
def test_a_handler_that_is_idempotent_is_not_accused(aws: Aws, shape: str) -> None:
    assert run(aws, SAME_AGAIN[shape], same_batch_of_each_seed(4), "retried-batch-written-twice") == []


def test_a_batch_that_a_fault_delivers_twice_is_evidence(aws: Aws) -> None:
    """Over a mapping: no retry has to be waited for."""
    source = make_stream(aws, "doubling", [json.dumps(Samples(1).message())])
    aws.make("doubling", handler(DOUBLES["keys objects by what is drawn"]), Timeout=20)
    with Client(aws.emulator.control) as control:
        control.add_fault(NewFault("duplicate", channel="function:doubling"))
        mapping = aws.lambda_.create_event_source_mapping(
            EventSourceArn=source, FunctionName="doubling", StartingPosition="TRIM_HORIZON"
        )

        def find() -> list[Finding]:
            return [each for each in control.diagnosis().findings if each.client == "doubling"]

        (found,) = wait_until(find)
        control.remove_fault("duplicate")
    assert (found.rule, found.stream) == ("retried-batch-written-twice", "doubling")
    aws.lambda_.delete_event_source_mapping(UUID=settle(aws, mapping)["UUID"])


def test_a_handler_that_times_out_twice_on_the_same_records_is_found(aws: Aws) -> None:
    """Once is no finding, and neither is a time-out that a fault made."""
    slow = "import time\ntime.sleep(9 if len(event['Records']) > 5 else 0)"
    event = event_of(7, "late", bad=False)
    aws.make("late", handler(slow), Timeout=1)
    for times in (1, 2):
        aws.invoke("late", event)
        with Client(aws.emulator.control) as control:
            found = [each.rule for each in control.diagnosis().findings if each.client == "late"]
        assert found == ["batch-outlasts-timeout"] * (times - 1)
    with Client(aws.emulator.control) as control:
        control.add_fault(NewFault("timeout", channel="function:struck", attributes={"written": True}))
        assert run(aws, "pass", [event] * 2, "batch-outlasts-timeout") == []
        control.remove_fault("timeout")


@pytest.mark.parametrize(("hidden", "accused"), [("30", True), ("64", True), ("65", False), ("90", False)])
def test_a_window_that_outlasts_the_visibility_time_out_is_found(
    aws: Aws, hidden: str, accused: bool
) -> None:
    """A window of 60 seconds and a Timeout of 5 need 65; then no message comes again meanwhile."""
    name, clock = f"window-{hidden}", aws.emulator.components.clock
    attributes = {"VisibilityTimeout": hidden}
    url = aws.client("sqs").create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    aws.make(name, handler("print('got', len(event['Records']))"), Timeout=5)
    mapping = aws.lambda_.create_event_source_mapping(
        EventSourceArn=f"arn:aws:sqs:us-east-1:000000000000:{name}",
        FunctionName=name,
        MaximumBatchingWindowInSeconds=60,
    )
    aws.client("sqs").send_message(QueueUrl=url, MessageBody="a")
    with Client(aws.emulator.control) as control:

        def look() -> bool:
            clock.advance(20)
            return name in [each.handler for each in control.recorded_exchange().batch_sources]

        wait_until(look)
        found = [each.rule for each in control.diagnosis().findings if each.client == name]
    assert found == ["window-outlasts-visibility"] * accused
    aws.lambda_.delete_event_source_mapping(UUID=settle(aws, mapping)["UUID"])
