"""Nothing of one person is seen by another, whatever is asked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pika
import pytest
from botocore.exceptions import ClientError

from extensions.hub.hub_api import SeatView
from rdss_sandbox.api.control_api import SUBJECTS
from rdss_sandbox.api.endpoint import list_endpoints
from tests.extensions.hub.running_hub import RunningHub, start_hub

MARK = "of-anna"
SERVICES = ("kinesis", "s3", "dynamodb", "sqs", "sns", "ssm", "lambda", "cloudwatch", "sts", "events", "logs")
READS = ("List", "Describe", "Get")
AT_ONCE = 500
PEOPLE = 50


def fill(hub: RunningHub, seat: SeatView) -> None:
    """Make something that bears the mark in every service, and in the broker."""
    hub.aws(seat).create_stream(StreamName=MARK, ShardCount=1)
    hub.aws(seat).put_record(StreamName="input", Data=MARK.encode(), PartitionKey=MARK)
    hub.aws(seat, "s3").create_bucket(Bucket=MARK)
    hub.aws(seat, "sqs").create_queue(QueueName=MARK)
    hub.aws(seat, "sns").create_topic(Name=MARK)
    hub.aws(seat, "ssm").put_parameter(Name=MARK, Value=MARK, Type="String")
    hub.aws(seat, "dynamodb").create_table(
        TableName=MARK,
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    with hub.broker(seat.name, seat.token) as connection:
        connection.channel().queue_declare(MARK, durable=True)
    hub.control(seat).snapshots.save(MARK)


def read_everything(hub: RunningHub, seat: SeatView) -> list[str]:
    """What every operation answers that only reads and needs no argument, in every service."""
    found = []
    for service in SERVICES:
        client = hub.aws(seat, service)
        model = client.meta.service_model
        for name, operation in client.meta.method_to_api_mapping.items():
            shape = model.operation_model(operation).input_shape
            if operation.startswith(READS) and not (shape and shape.required_members):
                found.append(f"{service} {operation} {_call(client, name)}")
    return found


def _call(client: Any, method: str) -> object:
    try:
        return getattr(client, method)()
    except (ClientError, httpx.HTTPError) as error:
        return error


def test_no_reading_operation_shows_anything_of_another(hub: RunningHub) -> None:
    """Every one that needs no argument, of eleven services, and every list of the control API."""
    anna, bob = hub.add("anna"), hub.add("bob")
    fill(hub, anna)
    shown = read_everything(hub, anna)
    assert {each.partition(" ")[0] for each in shown if MARK in each} >= {"kinesis", "s3", "dynamodb", "sqs"}
    assert [each for each in read_everything(hub, bob) if MARK in each] == []
    for subject in SUBJECTS:
        for endpoint in list_endpoints(subject):
            if endpoint.method == "GET" and "{" not in endpoint.path and not endpoint.streamed:
                assert MARK not in hub.get(f"/seat/bob{endpoint.path}", bob.token).text
    missing = pytest.raises(pika.exceptions.ChannelClosedByBroker, match="no queue 'of-anna'")
    with hub.broker("bob", bob.token) as connection, missing:
        connection.channel().queue_declare(MARK, passive=True)


def test_no_operation_of_the_control_api_is_open_to_another(hub: RunningHub) -> None:
    """Each is refused with another person's token, by path and by host name, before anything happens."""
    clara = hub.add("clara")
    hub.add("dirk")
    host = f"dirk.localhost:{hub.url.rpartition(':')[2]}"
    headers = {"authorization": f"Bearer {clara.token}"}
    asked = 0
    with httpx.Client(trust_env=False, base_url=hub.url, headers=headers) as client:
        for subject in SUBJECTS:
            for endpoint in list_endpoints(subject):
                path = endpoint.path.replace("{", "").replace("}", "").replace(":path", "")
                if path == "/health":
                    continue
                asked += 1
                assert client.request(endpoint.method, f"/seat/dirk{path}").status_code == 401
                assert client.request(endpoint.method, path, headers={"host": host}).status_code == 401
    assert asked > 60
    assert hub.find("dirk").state == "asleep"


def exchange(hub: RunningHub, seat: SeatView, count: int) -> None:
    """Send messages that bear the person's name, and read back those and no other."""
    kinesis = hub.aws(seat)
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, count))
        records = [{"Data": f"{seat.name} {each}".encode(), "PartitionKey": str(each)} for each in numbers]
        assert kinesis.put_records(StreamName="input", Records=records)["FailedRecordCount"] == 0
    found: set[str] = set()
    for shard in kinesis.list_shards(StreamName="input")["Shards"]:
        iterator = kinesis.get_shard_iterator(
            StreamName="input", ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        while records := (answer := kinesis.get_records(ShardIterator=iterator))["Records"]:
            found |= {each["Data"].decode() for each in records}
            iterator = answer["NextShardIterator"]
    assert found == {f"{seat.name} {each}" for each in range(count)}


def send_from_all(folder: Path, people: int, messages: int) -> None:
    with start_hub(folder, "--idle", "5s") as hub:
        seats = [hub.add(f"seat-{number}") for number in range(people)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seat: exchange(hub, seat, messages // people), seats))


def test_six_people_read_back_their_own_messages_and_no_other(tmp_path: Path) -> None:
    """At the same time, in streams of the same name."""
    send_from_all(tmp_path, 6, 6_000)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_fifty_people_read_back_a_million_messages(tmp_path: Path) -> None:
    """Each of them all of their own, and no other."""
    send_from_all(tmp_path, PEOPLE, 1_000_000)
