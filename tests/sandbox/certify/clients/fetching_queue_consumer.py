"""A right consumer that fetches message by message with basic.get, and waits where there is none."""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import pika
from pika.exceptions import AMQPError

QUEUE = os.environ["SANDBOX_QUEUE"]
STATE = Path(os.environ["SANDBOX_STATE_DIR"], "processed.json")
WORK_SECONDS = 0.01
done = json.loads(STATE.read_text()) if STATE.exists() else []
stopping: list[int] = []
signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))


def keep() -> None:
    """Write what was processed at once and whole."""
    draft = STATE.with_suffix(".draft")
    draft.write_text(json.dumps(done))
    draft.replace(STATE)


def body_digest(data: bytes) -> str:
    """The SHA-256 of the body's text as it was sent, found by the decoder that reads from a place."""
    text = data.decode()
    name = '"messageBody":'
    start = text.index(name) + len(name)
    _, end = json.JSONDecoder().raw_decode(text, start)
    return hashlib.sha256(text[start:end].encode()).hexdigest()


def process(data: bytes) -> bool:
    """Do the work, tell of it, and keep that it is done; return False for what was done before."""
    message_id = json.loads(data)["messageHeader"]["messageId"]
    if message_id in done:
        return False
    time.sleep(WORK_SECONDS)
    print(json.dumps({"processed": message_id, "sha256": body_digest(data)}), flush=True)
    done.append(message_id)
    keep()
    return True


def take(channel, method, _properties, data: bytes) -> None:
    try:
        process(data)
    except ValueError as error:
        print(f"no message: {error}", file=sys.stderr)
        channel.basic_reject(method.delivery_tag, requeue=False)
        return
    channel.basic_ack(method.delivery_tag)


def consume() -> None:
    with pika.BlockingConnection(pika.URLParameters(os.environ["SANDBOX_AMQP_URL"])) as connection:
        channel = connection.channel()
        channel.queue_declare(QUEUE, durable=True)
        while channel.is_open and not stopping:
            method, properties, data = channel.basic_get(QUEUE)
            if method is None:
                connection.sleep(0.2)
            else:
                take(channel, method, properties, data)


while not stopping:
    try:
        consume()
    except AMQPError as error:
        print(f"connects again: {error!r}", file=sys.stderr)
        time.sleep(0.1)
