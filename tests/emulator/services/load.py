"""A mixed load on S3, DynamoDB, SQS, SNS and SSM, and what of it was acknowledged."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Any, Final

from emulator.rng import Chance
from tests.emulator.services.conftest import client_of

SERVICES: Final = ("dynamodb", "s3", "sqs", "sns", "ssm")
TABLE, BUCKET, QUEUE = "leases", "mine", "jobs"
KEYS = 20
ACCOUNT = "000000000000"
DELETIONS = 0.2

Say = Callable[[str, str, str, str | None], None]
"""Gets "asked" or "done", the service, the key and its value, None for a deletion."""


class Clients:
    """The clients of the services at ``url``."""

    def __init__(self, url: str) -> None:
        self.dynamodb, self.s3, self.sqs, self.sns, self.ssm = (
            client_of(url, name) for name in ("dynamodb", "s3", "sqs", "sns", "ssm")
        )


def prepare(clients: Clients, services: Collection[str] = SERVICES) -> None:
    """Make what the load works on, where it is missing."""
    if "dynamodb" in services and TABLE not in clients.dynamodb.list_tables()["TableNames"]:
        clients.dynamodb.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    if "s3" in services and BUCKET not in [each["Name"] for each in clients.s3.list_buckets()["Buckets"]]:
        clients.s3.create_bucket(Bucket=BUCKET)
    if "sqs" in services:
        clients.sqs.create_queue(QueueName=QUEUE, Attributes={"VisibilityTimeout": "43200"})


def load(clients: Clients, seed: int, say: Say, services: Collection[str] = SERVICES) -> None:
    """Ask for changes, in every one of the services at once, until a request fails in each."""
    prepare(clients, services)
    acts = {
        "dynamodb": change_item,
        "s3": change_object,
        "sqs": send_message,
        "sns": change_topic,
        "ssm": change_parameter,
    }
    threads = [
        threading.Thread(target=_run, args=(clients, seed, (name, acts[name]), say)) for name in services
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _run(clients: Clients, seed: int, what: tuple[str, Callable[..., Any]], say: Say) -> None:
    service, act = what
    draws = Chance(seed).draws(service)
    number = 0
    while True:
        number += 1
        # Nothing replaces a message, so each has a key of its own. A topic has no value but its name.
        once = service == "sqs"
        key = f"{seed}-{number}" if once else str(draws.randrange(KEYS))
        deleting = not once and draws.random() < DELETIONS
        value = None if deleting else key if service == "sns" else f"{seed}-{number}"
        say("asked", service, key, value)
        try:
            act(clients, key, value)
        except Exception:  # noqa: BLE001 -- the sandbox was killed
            return
        say("done", service, key, value)


def change_item(clients: Clients, key: str, value: str | None) -> None:
    if value is None:
        clients.dynamodb.delete_item(TableName=TABLE, Key={"key": {"S": key}})
        return
    clients.dynamodb.update_item(
        TableName=TABLE,
        Key={"key": {"S": key}},
        UpdateExpression="SET v = :v",
        ExpressionAttributeValues={":v": {"S": value}},
    )


def change_object(clients: Clients, key: str, value: str | None) -> None:
    if value is None:
        clients.s3.delete_object(Bucket=BUCKET, Key=key)
    else:
        clients.s3.put_object(Bucket=BUCKET, Key=key, Body=value.encode() * 500, Metadata={"v": value})


def send_message(clients: Clients, _: str, value: str) -> None:
    queue = clients.sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]
    clients.sqs.send_message(QueueUrl=queue, MessageBody=value)


def change_topic(clients: Clients, key: str, value: str | None) -> None:
    if value is None:
        clients.sns.delete_topic(TopicArn=f"arn:aws:sns:us-east-1:{ACCOUNT}:{key}")
    else:
        clients.sns.create_topic(Name=key)


def change_parameter(clients: Clients, key: str, value: str | None) -> None:
    if value is None:
        clients.ssm.delete_parameters(Names=[key])
    else:
        clients.ssm.put_parameter(Name=key, Value=value, Type="String", Overwrite=True)


def read_everything(clients: Clients, services: Collection[str] = SERVICES) -> dict[str, dict[str, str]]:
    """What each service has: the value of each key. A message or a topic is its own value."""
    readers: dict[str, Callable[[], dict[str, str]]] = {
        "dynamodb": lambda: read_items(clients.dynamodb),
        "s3": lambda: read_objects(clients.s3),
        "sqs": lambda: read_messages(clients.sqs),
        "sns": lambda: read_topics(clients.sns),
        "ssm": lambda: read_parameters(clients.ssm),
    }
    return {name: readers[name]() for name in services}


def read_items(dynamodb: Any) -> dict[str, str]:
    return {each["key"]["S"]: each["v"]["S"] for each in dynamodb.scan(TableName=TABLE)["Items"]}


def read_topics(sns: Any) -> dict[str, str]:
    return {
        name: name
        for page in sns.get_paginator("list_topics").paginate()
        for name in (each["TopicArn"].rpartition(":")[2] for each in page["Topics"])
    }


def read_parameters(ssm: Any) -> dict[str, str]:
    names = [str(name) for name in range(KEYS)]
    return {
        each["Name"]: each["Value"]
        for some in (names[: KEYS // 2], names[KEYS // 2 :])
        for each in ssm.get_parameters(Names=some)["Parameters"]
    }


def read_objects(s3: Any) -> dict[str, str]:
    objects: dict[str, str] = {}
    for name in (each["Key"] for each in s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])):
        found = s3.get_object(Bucket=BUCKET, Key=name)
        objects[name] = found["Metadata"]["v"]
        assert found["Body"].read() == objects[name].encode() * 500
    return objects


def read_messages(sqs: Any) -> dict[str, str]:
    """Receive and delete every message."""
    queue = sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]
    bodies: list[str] = []
    while batch := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
        for message in batch:
            bodies.append(message["Body"])
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    assert len(set(bodies)) == len(bodies)
    return {body: body for body in bodies}
