"""A sandbox with something in everything that a snapshot has: filled, changed and read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.access import StreamPermission
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import NewFault
from tests.emulator.services.conftest import client_of
from tests.emulator.services.test_surviving import make_table
from tests.extensions.parts import PARTS

STREAM = "lesson"


BODY = b"a body of an object " * 100


class Lesson:
    """A running sandbox, its clients and its control API."""

    def __init__(self, emulator: Embedded) -> None:
        self.emulator = emulator
        self.control = Client(emulator.control)
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = client_of(self.emulator.aws, service)
        return self._clients[service]

    def put(self, *bodies: str, stream: str = STREAM) -> None:
        records = [{"Data": body.encode(), "PartitionKey": body} for body in bodies]
        self.client("kinesis").put_records(StreamName=stream, Records=records)


def fill(lesson: Lesson) -> None:
    """Put something into everything that a snapshot has."""
    client = lesson.client
    client("kinesis").create_stream(StreamName=STREAM, ShardCount=2)
    lesson.put(*(f"record {number}" for number in range(20)))
    s3 = client("s3")
    s3.create_bucket(Bucket="mine")
    s3.put_bucket_versioning(Bucket="mine", VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket="mine", Key="a", Body=b"first", Metadata={"of": "mine"})
    s3.put_object(Bucket="mine", Key="a", Body=BODY, Tagging="k=v")
    upload = s3.create_multipart_upload(Bucket="mine", Key="big")["UploadId"]
    s3.upload_part(Bucket="mine", Key="big", UploadId=upload, PartNumber=1, Body=b"part" * 1000)
    make_table(client("dynamodb"), "t")
    client("dynamodb").put_item(TableName="t", Item={"key": {"S": "lease"}, "owner": {"S": "me"}})
    queue = client("sqs").create_queue(QueueName="q")["QueueUrl"]
    client("sqs").send_message(QueueUrl=queue, MessageBody="waiting")
    client("sns").create_topic(Name="told")
    client("ssm").put_parameter(Name="p", Value="v", Type="String")
    for part in PARTS:
        part.fill(lesson.emulator)
    control = lesson.control
    control.add_fault(NewFault("throttle", name="mine", channel=STREAM, toxicity=0.5, enabled=False))
    control.access.permit("narrow", StreamPermission((STREAM,), ("Get*",)))
    control.change_clock(ClockChange("freeze"))
    control.change_clock(ClockChange("advance", seconds=600))


def change(lesson: Lesson) -> None:
    """Change all of it."""
    client, control = lesson.client, lesson.control
    lesson.put("later")
    client("kinesis").create_stream(StreamName="another", ShardCount=1)
    client("s3").put_object(Bucket="mine", Key="a", Body=b"third")
    client("s3").put_object(Bucket="mine", Key="b", Body=b"another")
    client("dynamodb").put_item(TableName="t", Item={"key": {"S": "lease"}, "owner": {"S": "another"}})
    make_table(client("dynamodb"), "another")
    queue = client("sqs").get_queue_url(QueueName="q")["QueueUrl"]
    client("sqs").purge_queue(QueueUrl=queue)
    client("sns").create_topic(Name="another")
    client("ssm").put_parameter(Name="p", Value="changed", Type="String", Overwrite=True)
    for part in PARTS:
        part.change(lesson.emulator)
    control.remove_fault("mine")
    control.access.forget("narrow")
    control.change_clock(ClockChange("advance", seconds=600))


def read(lesson: Lesson) -> dict[str, Any]:
    """What there is of everything, as clients see it."""
    client, control = lesson.client, lesson.control
    s3 = client("s3")
    versions = s3.list_object_versions(Bucket="mine").get("Versions", [])
    uploads = s3.list_multipart_uploads(Bucket="mine").get("Uploads", [])
    parts = [
        s3.list_parts(Bucket="mine", Key=each["Key"], UploadId=each["UploadId"])["Parts"] for each in uploads
    ]
    queue = client("sqs").get_queue_url(QueueName="q")["QueueUrl"]
    names = ["ApproximateNumberOfMessages", "CreatedTimestamp"]
    extensions = {name: value for part in PARTS for name, value in part.read(control).items()}
    return extensions | {
        "records": records(lesson),
        "streams": [(each.name, each.arn) for each in control.streams() if each.name in {STREAM, "another"}],
        "versions": [
            (each["Key"], each["VersionId"], each["ETag"], each["LastModified"]) for each in versions
        ],
        "bodies": [
            s3.get_object(Bucket="mine", Key=each["Key"], VersionId=each["VersionId"])["Body"].read()
            for each in versions
        ],
        "parts": [[(each["PartNumber"], each["ETag"]) for each in some] for some in parts],
        "tags": s3.get_object_tagging(Bucket="mine", Key="a")["TagSet"],
        "items": client("dynamodb").scan(TableName="t")["Items"],
        "tables": client("dynamodb").list_tables()["TableNames"],
        "messages": client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"],
        "notifying": [each["TopicArn"] for each in client("sns").list_topics()["Topics"]],
        "parameter": client("ssm").get_parameter(Name="p")["Parameter"]["Value"],
        "faults": control.faults(),
        "permissions": control.access.list(),
        "clock": (control.clock().time, control.clock().speed),
    }


def records(lesson: Lesson) -> list[tuple[str, bytes]]:
    """Every record of the stream, with its sequence number."""
    kinesis = lesson.client("kinesis")
    found = []
    for shard in kinesis.list_shards(StreamName=STREAM)["Shards"]:
        iterator = kinesis.get_shard_iterator(
            StreamName=STREAM, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        answer = kinesis.get_records(ShardIterator=iterator)
        found += [(each["SequenceNumber"], each["Data"]) for each in answer["Records"]]
    return found


@contextmanager
def teach(folder: Path, data_dir: Path | None, **more: Any) -> Iterator[Lesson]:
    extensions = tuple(each for part in PARTS for each in part.settings(folder))
    ports = {f"{name}_port": 0 for name in ("aws", "control")}
    with embedded(
        Settings(data_dir=data_dir, amqp="none", extensions=extensions, **ports, **more)
    ) as emulator:
        lesson = Lesson(emulator)
        try:
            yield lesson
        finally:
            lesson.control.close()


Teach = Callable[..., AbstractContextManager[Lesson]]
