"""Where documents of failures go: a queue, a topic or a bucket, by its ARN."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from emulator.rng import new_uuid

Client = Callable[[str, str], Any]
"""Makes a boto3 client of the sandbox's AWS port for a service and a region."""
SERVICES: Final = ("sqs", "sns", "s3")


def find_queue(client: Client, region: str, name: str) -> str | None:
    """The URL of a queue; None where there is none."""
    sqs = client("sqs", region)
    try:
        url: str = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    except sqs.exceptions.QueueDoesNotExist:
        return None
    return url


def send_document(client: Client, destination: str, document: object, prefix: str, now: float) -> str:
    """Send a document; in a bucket its key begins with ``prefix``. Returns why that failed, or ""."""
    from botocore.exceptions import BotoCoreError, ClientError

    _, _, service, region, account, name = destination.split(":", 5)
    body = json.dumps(document)
    try:
        made = client(service, region or "us-east-1")
        if service == "sqs":
            url = made.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=account)["QueueUrl"]
            made.send_message(QueueUrl=url, MessageBody=body)
        elif service == "sns":
            made.publish(TopicArn=destination, Message=body)
        else:
            at = datetime.fromtimestamp(now, UTC)
            key = f"{prefix}/{at:%Y/%m/%d}/{at:%Y-%m-%dT%H.%M.%S}-{new_uuid()}"
            made.put_object(Bucket=name, Key=key, Body=body.encode())
    except (BotoCoreError, ClientError) as error:
        return str(error)
    return ""
