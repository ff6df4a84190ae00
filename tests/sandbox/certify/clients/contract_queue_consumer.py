"""A right consumer that keeps the contract with pika and ``schemas``: it joins, upgrades and rejects."""

import base64
import json
import os
import signal
import sys
import time
from hashlib import sha256
from pathlib import Path

import pika
from pika.exceptions import AMQPError

from schemas.rdss.decoration import decorate
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.older_versions import RELEASES, CannotUpgradeError, upgrade
from schemas.rdss.peek import peek
from schemas.rdss.sequence import body_of, join
from schemas.rdss.validation import judge

QUEUE, OUTPUT = os.environ["SANDBOX_QUEUE"], os.environ["SANDBOX_OUTPUT_QUEUE"]
QUEUES = {"error": os.environ["SANDBOX_ERROR_QUEUE"], "invalid": os.environ["SANDBOX_INVALID_QUEUE"]}
STATE = Path(os.environ["SANDBOX_STATE_DIR"], "state.json")
PERSISTENT = pika.BasicProperties(content_type="application/json", delivery_mode=2)
state = json.loads(STATE.read_text()) if STATE.exists() else {"ids": [], "sent": [], "parts": {}}
stopping: list[int] = []
signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))


def keep() -> None:
    """Write the state at once and whole."""
    draft = STATE.with_suffix(".draft")
    draft.write_text(json.dumps(state))
    draft.replace(STATE)


def publish(channel, queue: str, data: bytes) -> None:
    state["sent"].append(sha256(data).hexdigest())
    channel.basic_publish("", queue, data, PERSISTENT, mandatory=True)


def current(data: bytes) -> bytes:
    """The message in the form of 4.0.0, where that can be had."""
    version = peek(data).version
    if judge(data).valid or version not in RELEASES:
        return data
    try:
        return upgrade(data, version)
    except CannotUpgradeError:
        return data


def take_part(data: bytes) -> bytes | None:
    """Keep a part of a sequence; return the whole message with its last part."""
    seen = peek(data)
    parts = state["parts"].setdefault(seen.sequence, {})
    parts[str(seen.position)] = base64.b64encode(data).decode()
    if len(parts) < (seen.total or 1):
        return None
    return join(base64.b64decode(each) for each in parts.values())


def process(channel, data: bytes) -> None:
    if sha256(data).hexdigest() in state["sent"]:
        return
    message = current(data)
    code = judge(message, now=time.time()).code
    if code is not None:
        reject(channel, data, code)
        return
    seen = peek(message)
    if seen.message_id in state["ids"]:
        return
    whole = take_part(message) if (seen.total or 1) > 1 else message
    if whole is not None:
        told = {"processed": seen.message_id, "sha256": sha256(body_of(whole)).hexdigest()}
        print(json.dumps(told), flush=True)
    if message != data:
        publish(channel, OUTPUT, message)
    state["ids"].append(seen.message_id)


def reject(channel, data: bytes, code: ErrorCode) -> None:
    queue = QUEUES[code.queue.value]
    publish(channel, queue, decorate(data, code, code.description, now=time.time()))


def take(channel, method, _properties, data: bytes) -> None:
    process(channel, data)
    keep()
    channel.basic_ack(method.delivery_tag)


def consume() -> None:
    with pika.BlockingConnection(pika.URLParameters(os.environ["SANDBOX_AMQP_URL"])) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.basic_qos(prefetch_count=10)
        channel.basic_consume(QUEUE, take)
        while channel.is_open and not stopping:
            connection.process_data_events(time_limit=0.2)


while not stopping:
    try:
        consume()
    except AMQPError as error:
        print(f"connects again: {error!r}", file=sys.stderr)
        time.sleep(0.1)
