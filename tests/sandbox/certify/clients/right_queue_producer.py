"""A right producer with pika alone: confirms, mandatory, persistent, and what fails is published again."""

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pika
from pika.exceptions import AMQPError

QUEUE = os.environ["SANDBOX_QUEUE"]
SENT = Path(os.environ["SANDBOX_STATE_DIR"], "sent.txt")
sent = set(SENT.read_text().split()) if SENT.exists() else set()
lines = Path(os.environ["SANDBOX_MESSAGES"]).read_bytes().splitlines()
left = [(json.loads(line)["messageHeader"]["messageId"], line) for line in lines]


def expired(message: bytes) -> bool:
    ends = json.loads(message)["messageHeader"]["messageTimings"].get("expirationTimestamp")
    return ends is not None and datetime.fromisoformat(ends) <= datetime.now(UTC)


left = [each for each in left if each[0] not in sent and not expired(each[1])]
PROPERTIES = pika.BasicProperties(content_type="application/json", delivery_mode=2)


def publish() -> None:
    """Publish what is left; raises where the broker refuses or the connection ends."""
    with pika.BlockingConnection(pika.URLParameters(os.environ["SANDBOX_AMQP_URL"])) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.queue_declare(QUEUE, durable=True)
        with SENT.open("a") as kept:
            while left:
                name, line = left[0]
                channel.basic_publish("", QUEUE, line, PROPERTIES, mandatory=True)
                kept.write(f"{name}\n")
                kept.flush()
                print(json.dumps({"sent": name}), flush=True)
                del left[0]


pause = 0.1
while left:
    try:
        publish()
    except AMQPError as error:
        print(f"publishes again: {error!r}", file=sys.stderr)
        time.sleep(pause)
