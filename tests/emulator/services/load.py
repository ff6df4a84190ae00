"""A mixed load on S3, DynamoDB, SQS, SNS and SSM, and what of it was acknowledged.

    python -m tests.emulator.services.load URL SEED

prints a line for each thing before it is asked for, and one after it was acknowledged.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from emulator.rng import Chance
from tests.emulator.services.conftest import client_of

TABLE, BUCKET, QUEUE = "leases", "mine", "jobs"
KEYS = 20
REGION = "us-east-1"


class Line(NamedTuple):
    """That ``value`` shall be, or is, the value of ``key`` in a service; None for a deletion."""

    word: str
    service: str
    key: str
    value: str | None


def prepare(url: str) -> None:
    """Make what the load works on, where it is missing."""
    dynamodb, s3, sqs = (client_of(url, name) for name in ("dynamodb", "s3", "sqs"))
    if TABLE not in dynamodb.list_tables()["TableNames"]:
        dynamodb.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    if BUCKET not in [each["Name"] for each in s3.list_buckets()["Buckets"]]:
        s3.create_bucket(Bucket=BUCKET)
    sqs.create_queue(QueueName=QUEUE)


def main(url: str, seed: int) -> None:
    prepare(url)
    writing = threading.Lock()

    def say(*line: Any) -> None:
        with writing:
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()

    def run(service: str, act: Callable[[str, str | None], None]) -> None:
        draws = Chance(seed).draws(service)
        for number in range(1_000_000):
            # A key of SQS is used once: a message is not replaced.
            key = f"{seed}-{number}" if service in {"sqs", "sns"} else str(draws.randrange(KEYS))
            deleting = service not in {"sqs", "sns"} and draws.random() < 0.2
            value = None if deleting else f"{seed}-{number}"
            say("asked", service, key, value)
            try:
                act(key, value)
            except Exception:  # noqa: BLE001 -- the sandbox was killed
                return
            say("done", service, key, value)

    threads = [
        threading.Thread(target=run, args=each)
        for each in (
            ("dynamodb", items(url)),
            ("s3", objects(url)),
            ("sqs", messages(url)),
            ("sns", topics(url)),
            ("ssm", parameters(url)),
        )
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def items(url: str) -> Callable[[str, str | None], None]:
    dynamodb = client_of(url, "dynamodb")

    def act(key: str, value: str | None) -> None:
        if value is None:
            dynamodb.delete_item(TableName=TABLE, Key={"key": {"S": key}})
        else:
            dynamodb.update_item(
                TableName=TABLE,
                Key={"key": {"S": key}},
                UpdateExpression="SET v = :v",
                ExpressionAttributeValues={":v": {"S": value}},
            )

    return act


def objects(url: str) -> Callable[[str, str | None], None]:
    s3 = client_of(url, "s3")

    def act(key: str, value: str | None) -> None:
        if value is None:
            s3.delete_object(Bucket=BUCKET, Key=key)
        else:
            s3.put_object(Bucket=BUCKET, Key=key, Body=value.encode() * 500, Metadata={"v": value})

    return act


def messages(url: str) -> Callable[[str, str | None], None]:
    sqs = client_of(url, "sqs")
    queue = sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]
    return lambda _, value: sqs.send_message(QueueUrl=queue, MessageBody=value)


def topics(url: str) -> Callable[[str, str | None], None]:
    sns = client_of(url, "sns")
    return lambda key, _: sns.create_topic(Name=key)


def parameters(url: str) -> Callable[[str, str | None], None]:
    ssm = client_of(url, "ssm")

    def act(key: str, value: str | None) -> None:
        if value is None:
            ssm.delete_parameters(Names=[key])
        else:
            ssm.put_parameter(Name=key, Value=value, Type="String", Overwrite=True)

    return act


def read_everything(url: str) -> dict[str, dict[str, str | None]]:
    """What each service has: the value of each key."""
    dynamodb, s3, sqs, sns, ssm = (client_of(url, name) for name in ("dynamodb", "s3", "sqs", "sns", "ssm"))
    listed = s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])
    objects_found: dict[str, str | None] = {}
    for name in (each["Key"] for each in listed):
        found = s3.get_object(Bucket=BUCKET, Key=name)
        value = found["Metadata"]["v"]
        assert found["Body"].read() == value.encode() * 500
        objects_found[name] = value
    queue = sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]
    bodies: list[str] = []
    while batch := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
        bodies += [each["Body"] for each in batch]
    assert len(set(bodies)) == len(bodies)
    return {
        "dynamodb": {each["key"]["S"]: each["v"]["S"] for each in dynamodb.scan(TableName=TABLE)["Items"]},
        "s3": objects_found,
        "sqs": dict.fromkeys(bodies) | {body: body for body in bodies},
        "sns": {
            name: name
            for page in sns.get_paginator("list_topics").paginate()
            for name in (each["TopicArn"].rpartition(":")[2] for each in page["Topics"])
        },
        "ssm": {
            each["Name"]: each["Value"]
            for names in (range(10), range(10, KEYS))
            for each in ssm.get_parameters(Names=[str(name) for name in names])["Parameters"]
        },
    }


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
