"""Lesson 3, Checkpoints and crashes: a client that writes its checkpoint after the work."""

import json
import os
import signal
import time
from pathlib import Path

import boto3

STREAM = os.environ["SANDBOX_STREAM"]
CHECKPOINT = Path(os.environ["SANDBOX_STATE_DIR"], "checkpoint.json")
kinesis = boto3.client("kinesis")  # the endpoint and the keys come from the environment
last_done: dict[str, str] = json.loads(CHECKPOINT.read_text()) if CHECKPOINT.exists() else {}
iterators: dict[str, str] = {}
stopping: list[int] = []
signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))


def save(shard: str, record: dict) -> None:
    """Write the checkpoint: a restart goes on behind this record. It is replaced whole, never half."""
    last_done[shard] = record["SequenceNumber"]
    draft = CHECKPOINT.with_suffix(".draft")
    draft.write_text(json.dumps(last_done))
    draft.replace(CHECKPOINT)


def process(record: dict) -> None:
    """Do the work, which takes a while, and tell that it is done."""
    message_id = json.loads(record["Data"])["messageHeader"]["messageId"]
    time.sleep(0.1)
    print(json.dumps({"processed": message_id}), flush=True)


def open_iterator(shard: str) -> str:
    """Begin to read a shard, behind the checkpoint if it has one."""
    start = {"ShardIteratorType": "TRIM_HORIZON"}
    if shard in last_done:
        start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": last_done[shard]}
    return kinesis.get_shard_iterator(StreamName=STREAM, ShardId=shard, **start)["ShardIterator"]


def read(shard: str) -> None:
    """Process what has come to a shard since the last time."""
    answer = kinesis.get_records(ShardIterator=iterators.get(shard) or open_iterator(shard))
    for record in answer["Records"]:
        process(record)
        save(shard, record)
    iterators[shard] = answer["NextShardIterator"]


while not stopping:
    for each in kinesis.list_shards(StreamName=STREAM)["Shards"]:
        read(each["ShardId"])
    time.sleep(0.25)
