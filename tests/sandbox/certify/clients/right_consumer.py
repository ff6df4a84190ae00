"""A right consumer with boto3 alone: every shard, parents first, checkpoints in a file, no message twice."""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

STREAM = os.environ["SANDBOX_STREAM"]
STATE = Path(os.environ["SANDBOX_STATE_DIR"], "checkpoint.json")
kinesis = boto3.client("kinesis", config=Config(retries={"total_max_attempts": 1}))
state = json.loads(STATE.read_text()) if STATE.exists() else {"done": [], "after": {}, "ids": []}
iterators: dict[str, str] = {}
stopping: list[int] = []
signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))


def keep() -> None:
    """Write the checkpoint at once and whole."""
    draft = STATE.with_suffix(".draft")
    draft.write_text(json.dumps(state))
    draft.replace(STATE)


def body_digest(data: bytes) -> str:
    """The SHA-256 of the body's text as it was sent, found by the decoder that reads from a place."""
    text = data.decode()
    name = '"messageBody":'
    start = text.index(name) + len(name)
    _, end = json.JSONDecoder().raw_decode(text, start)
    return hashlib.sha256(text[start:end].encode()).hexdigest()


def process(record: dict) -> None:
    message_id = json.loads(record["Data"])["messageHeader"]["messageId"]
    if message_id not in state["ids"]:
        print(json.dumps({"processed": message_id, "sha256": body_digest(record["Data"])}), flush=True)
        state["ids"].append(message_id)


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
        process(record)
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
