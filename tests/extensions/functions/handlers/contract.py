"""A right handler that keeps the contract with boto3 and ``schemas``: it joins, upgrades and rejects."""

import base64
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import boto3

from schemas.rdss.decoration import decorate
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.older_versions import RELEASES, CannotUpgradeError, upgrade
from schemas.rdss.peek import peek
from schemas.rdss.sequence import body_of, join
from schemas.rdss.validation import judge

OUTPUT = os.environ["SANDBOX_OUTPUT_STREAM"]
QUEUES = {"error": os.environ["SANDBOX_ERROR_STREAM"], "invalid": os.environ["SANDBOX_INVALID_STREAM"]}
STATE = Path(os.environ["SANDBOX_STATE_DIR"], "state.json")
kinesis = boto3.client("kinesis")


@contextmanager
def own_state() -> Iterator[dict]:
    """What was done so far, for one process at a time; it is written at the end, at once and whole."""
    with STATE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = json.loads(STATE.read_text()) if STATE.exists() else {"ids": [], "sent": [], "parts": {}}
        yield state
        draft = STATE.with_suffix(".draft")
        draft.write_text(json.dumps(state))
        draft.replace(STATE)


def publish(state: dict, stream: str, data: bytes) -> None:
    state["sent"].append(sha256(data).hexdigest())
    kinesis.put_record(StreamName=stream, Data=data, PartitionKey=sha256(data).hexdigest())


def reject(state: dict, data: bytes, code: ErrorCode) -> None:
    queue = QUEUES[code.queue.value]
    publish(state, queue, decorate(data, code, code.description, now=time.time()))


def current(data: bytes) -> bytes:
    """The message in the form of 4.0.0, where that can be had."""
    version = peek(data).version
    if judge(data).valid or version not in RELEASES:
        return data
    try:
        return upgrade(data, version)
    except CannotUpgradeError:
        return data


def take_part(state: dict, data: bytes) -> bytes | None:
    """Keep a part of a sequence; return the whole message with its last part."""
    seen = peek(data)
    parts = state["parts"].setdefault(seen.sequence, {})
    parts[str(seen.position)] = base64.b64encode(data).decode()
    if len(parts) < (seen.total or 1):
        return None
    return join(base64.b64decode(each) for each in parts.values())


def process(state: dict, data: bytes) -> None:
    if sha256(data).hexdigest() in state["sent"]:
        return
    message = current(data)
    code = judge(message, now=time.time()).code
    if code is not None:
        reject(state, data, code)
        return
    seen = peek(message)
    if seen.message_id in state["ids"]:
        return
    whole = take_part(state, message) if (seen.total or 1) > 1 else message
    if whole is not None:
        told = {"processed": seen.message_id, "sha256": sha256(body_of(whole)).hexdigest()}
        print(json.dumps(told))
    if message != data:
        publish(state, OUTPUT, message)
    state["ids"].append(seen.message_id)


def read(record: dict) -> bytes:
    if "kinesis" in record:
        return base64.b64decode(record["kinesis"]["data"])
    return record["body"].encode()


def handler(event: dict, context: object) -> None:
    del context
    for record in event["Records"]:
        with own_state() as state:
            process(state, read(record))
