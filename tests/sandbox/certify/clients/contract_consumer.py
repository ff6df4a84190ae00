"""A right consumer that keeps the contract with boto3 and ``schemas``: it joins, upgrades and rejects."""

import base64
import json
import os
import signal
import sys
import time
from hashlib import sha256
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from schemas.rdss.decoration import decorate
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.older_versions import RELEASES, CannotUpgradeError, upgrade
from schemas.rdss.peek import peek
from schemas.rdss.sequence import body_of, join
from schemas.rdss.validation import judge

STREAM, OUTPUT = os.environ["SANDBOX_STREAM"], os.environ["SANDBOX_OUTPUT_STREAM"]
QUEUES = {"error": os.environ["SANDBOX_ERROR_STREAM"], "invalid": os.environ["SANDBOX_INVALID_STREAM"]}
STATE = Path(os.environ["SANDBOX_STATE_DIR"], "checkpoint.json")
kinesis = boto3.client("kinesis", config=Config(retries={"total_max_attempts": 3}))
state = (
    json.loads(STATE.read_text())
    if STATE.exists()
    else {"done": [], "after": {}, "ids": [], "sent": [], "parts": {}}
)
iterators: dict[str, str] = {}
stopping: list[int] = []
signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))


def keep() -> None:
    """Write the checkpoint at once and whole."""
    draft = STATE.with_suffix(".draft")
    draft.write_text(json.dumps(state))
    draft.replace(STATE)


def publish(stream: str, data: bytes) -> None:
    state["sent"].append(sha256(data).hexdigest())
    kinesis.put_record(StreamName=stream, Data=data, PartitionKey=sha256(data).hexdigest())


def reject(data: bytes, code: ErrorCode) -> None:
    queue = QUEUES[code.queue.value]
    publish(queue, decorate(data, code, code.description, now=time.time()))


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


def process(data: bytes) -> None:
    if sha256(data).hexdigest() in state["sent"]:
        return
    message = current(data)
    code = judge(message, now=time.time()).code
    if code is not None:
        reject(data, code)
        return
    seen = peek(message)
    if seen.message_id in state["ids"]:
        return
    whole = take_part(message) if (seen.total or 1) > 1 else message
    if whole is not None:
        told = {"processed": seen.message_id, "sha256": sha256(body_of(whole)).hexdigest()}
        print(json.dumps(told), flush=True)
    if message != data:
        publish(OUTPUT, message)
    state["ids"].append(seen.message_id)


def iterator(shard: str) -> str:
    if shard not in iterators:
        after = state["after"].get(shard)
        place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
        where = place if after else {"ShardIteratorType": "TRIM_HORIZON"}
        answer = kinesis.get_shard_iterator(StreamName=STREAM, ShardId=shard, **where)
        iterators[shard] = answer["ShardIterator"]
    return iterators[shard]


def read(shard: str) -> None:
    try:
        answer = kinesis.get_records(ShardIterator=iterator(shard), Limit=100)
    except kinesis.exceptions.ExpiredIteratorException:
        del iterators[shard]
        return
    except (ClientError, BotoCoreError) as error:
        print(f"tried again: {error}", file=sys.stderr)
        return
    for record in answer["Records"]:
        process(record["Data"])
        state["after"][shard] = record["SequenceNumber"]
        keep()
        if stopping:
            sys.exit(0)
    if answer.get("NextShardIterator"):
        iterators[shard] = answer["NextShardIterator"]
    else:
        state["done"].append(shard)
        keep()


def ready_shards() -> list[str]:
    shards = kinesis.list_shards(StreamName=STREAM)["Shards"]
    names = {shard["ShardId"] for shard in shards}
    found = []
    for shard in shards:
        parents = {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")} & names
        if shard["ShardId"] not in state["done"] and parents <= set(state["done"]):
            found.append(shard["ShardId"])
    return found


while not stopping:
    for each in ready_shards():
        read(each)
    time.sleep(0.25)
