"""A full disk stops what moto's services store, and nothing else: reading and deleting go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from tests.emulator.assembly.test_full_disk import LARGE, Disk, real_disk, seam
from tests.taken_out import needs

SERVICES = ("s3", "sqs", "dynamodb")
TABLE: dict[str, Any] = {
    "TableName": "t",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
TEXT = "d" * 9000


@pytest.fixture(params=[real_disk, seam], ids=["a real one", "the seam"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    with request.param(folder) as made:
        yield made


@pytest.fixture
def a_real_disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    with real_disk(folder) as made:
        yield made


@contextmanager
def running(disk: Disk) -> Iterator[tuple[Embedded, dict[str, Any]]]:
    """A sandbox on the disk, and a client of each service that tries everything once."""
    settings = Settings(
        data_dir=disk.folder / "data",
        aws_port=0,
        control_port=0,
        amqp="none",
        topology=Topology(streams={}, buckets=()),
    )
    once = Config(retries={"total_max_attempts": 1}, read_timeout=20, s3={"addressing_style": "path"})
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    with embedded(settings) as emulator, ExitStack() as stack:
        clients = {
            name: boto3.client(name, endpoint_url=emulator.aws, config=once, **keys) for name in SERVICES
        }
        for client in clients.values():
            stack.callback(client.close)
        yield emulator, clients


def fill(clients: dict[str, Any]) -> str:
    """Store two things in each service, and return the URL of the queue."""
    clients["s3"].create_bucket(Bucket="things")
    clients["dynamodb"].create_table(**TABLE)
    queue: str = clients["sqs"].create_queue(QueueName="q")["QueueUrl"]
    for name in ("one", "two"):
        clients["s3"].put_object(Bucket="things", Key=name, Body=LARGE)
        clients["dynamodb"].put_item(TableName="t", Item={"id": {"S": name}, "x": {"S": TEXT}})
        clients["sqs"].send_message(QueueUrl=queue, MessageBody=name * 1000)
    return queue


def put_until_refused(clients: dict[str, Any], queue: str) -> None:
    item = {"id": {"S": "three"}, "x": {"S": TEXT}}
    for put in (
        partial(clients["s3"].put_object, Bucket="things", Key="three", Body=LARGE),
        partial(clients["s3"].put_object, Bucket="things", Key="four", Body=b"small"),
        partial(clients["s3"].put_object, Bucket="things", Key="five", Body=b"", Metadata={"m": "x" * 1900}),
        partial(clients["dynamodb"].put_item, TableName="t", Item=item),
        partial(clients["sqs"].send_message, QueueUrl=queue, MessageBody=TEXT),
    ):
        assert "No space left on device" in refusal(put)


def refusal(put: Callable[[], Any]) -> str:
    """What is answered when it is refused: the last page of a file may have room for some."""
    for _ in range(200):
        try:
            put()
        except ClientError as error:
            return str(error)
    raise AssertionError("a full disk takes everything")


def read(clients: dict[str, Any], queue: str) -> None:
    """Read all that is stored, by every operation that an application reads with."""
    s3, sqs, dynamodb = (clients[name] for name in SERVICES)
    assert s3.get_object(Bucket="things", Key="one")["Body"].read() == LARGE
    assert s3.head_object(Bucket="things", Key="two")["ContentLength"] == len(LARGE)
    assert {each["Key"] for each in s3.list_objects_v2(Bucket="things")["Contents"]} >= {"one", "two"}
    # moto is one for the process: the sandbox that other tests share has its own among them.
    assert "things" in [each["Name"] for each in s3.list_buckets()["Buckets"]]
    assert dynamodb.get_item(TableName="t", Key={"id": {"S": "one"}})["Item"]["x"]["S"] == TEXT
    assert {each["id"]["S"] for each in dynamodb.scan(TableName="t")["Items"]} >= {"one", "two"}
    assert sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert "q" in [url.rpartition("/")[2] for url in sqs.list_queues()["QueueUrls"]]


def test_after_refused_puts_everything_is_still_read(disk: Disk) -> None:
    """S3, DynamoDB and SQS answer; with space they store again, and have all of it after a restart."""
    with running(disk) as (_, clients):
        queue = fill(clients)
        disk.fill()
        put_until_refused(clients, queue)
        for _ in range(2):
            read(clients, queue)
        disk.free()
        clients["s3"].put_object(Bucket="things", Key="late", Body=b"late")
        clients["sqs"].send_message(QueueUrl=queue, MessageBody="late")
        clients["dynamodb"].put_item(TableName="t", Item={"id": {"S": "late"}})
    with running(disk) as (_, clients):
        read(clients, queue)
        assert clients["s3"].get_object(Bucket="things", Key="late")["Body"].read() == b"late"
        assert "Item" in clients["dynamodb"].get_item(TableName="t", Key={"id": {"S": "late"}})


def test_on_a_full_disk_messages_are_received_and_things_are_deleted(a_real_disk: Disk) -> None:
    """A deletion is stored, so that nothing is back after a restart, and it makes room."""
    with running(a_real_disk) as (_, clients):
        queue = fill(clients)
        a_real_disk.fill()
        put_until_refused(clients, queue)
        (message,) = clients["sqs"].receive_message(QueueUrl=queue)["Messages"]
        clients["sqs"].delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        clients["dynamodb"].delete_item(TableName="t", Key={"id": {"S": "one"}})
        clients["s3"].delete_object(Bucket="things", Key="one")
        gone = {"Objects": [{"Key": "two"}]}
        assert not clients["s3"].delete_objects(Bucket="things", Delete=gone).get("Errors")
    with running(a_real_disk) as (_, clients):
        names = {each["Key"] for each in clients["s3"].list_objects_v2(Bucket="things").get("Contents", ())}
        assert names.isdisjoint({"one", "two"})
        assert "Item" not in clients["dynamodb"].get_item(TableName="t", Key={"id": {"S": "one"}})
        a_real_disk.free()
        bodies = [
            each["Body"]
            for _ in range(3)
            for each in clients["sqs"].receive_message(QueueUrl=queue).get("Messages", ())
        ]
        assert message["Body"] not in bodies


@needs("queues")
def test_on_a_full_disk_streams_and_messages_of_queues_are_deleted(a_real_disk: Disk) -> None:
    """And they are gone after a restart."""
    headers = {"Client-ID": "3381af92-2b9e-11e3-b191-71861300734c", "X-Project-ID": "p"}
    with running(a_real_disk) as (emulator, clients), httpx.Client(trust_env=False, headers=headers) as http:
        fill(clients)
        streams, home = emulator.components.streams, emulator.components.home
        queue = f"{emulator.urls['queues']}/v2/queues/jobs"
        streams.call("CreateStream", {"StreamName": "s", "ShardCount": 1}, home)
        streams.call("PutRecord", {"StreamName": "s", "PartitionKey": "k", "Data": LARGE[:9000]}, home)
        post = partial(http.post, f"{queue}/messages", json={"messages": [{"body": "b" * 9000, "ttl": 600}]})
        assert http.put(queue).is_success
        href = post().json()["resources"][0]
        a_real_disk.fill()
        put_until_refused(clients, clients["sqs"].list_queues()["QueueUrls"][0])
        while post().is_success:
            pass
        assert http.delete(f"{emulator.urls['queues']}{href}").status_code == 204
        streams.call("DeleteStream", {"StreamName": "s"}, home)
        assert http.delete(queue).status_code == 204
    a_real_disk.free()
    with running(a_real_disk) as (emulator, _):
        assert [view.name for view in emulator.components.streams.streams(home)] == []
        assert [at.name for at in emulator.components.extensions["queues"].engine.state.queues] == []
