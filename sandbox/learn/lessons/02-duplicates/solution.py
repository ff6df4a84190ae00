"""Lesson 2, Duplicates: a client that knows a message by its messageId."""

import json
import os
import signal
import time
from pathlib import Path

import boto3

STREAM = os.environ["SANDBOX_STREAM"]
DONE = Path(os.environ["SANDBOX_STATE_DIR"], "done.txt")
kinesis = boto3.client("kinesis")  # the endpoint and the keys come from the environment
done = set(DONE.read_text().split()) if DONE.exists() else set()
iterators: dict[str, str] = {}
stopping: list[int] = []
signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))


def process(record: dict) -> None:
    """Do the work, and tell that it is done, once for each message."""
    message_id = json.loads(record["Data"])["messageHeader"]["messageId"]
    if message_id in done:
        return
    print(json.dumps({"processed": message_id}), flush=True)
    done.add(message_id)
    with DONE.open("a") as file:
        file.write(f"{message_id}\n")


def open_iterator(shard: str) -> str:
    """Begin to read a shard, with the oldest record that the stream keeps."""
    answer = kinesis.get_shard_iterator(StreamName=STREAM, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    return answer["ShardIterator"]


def read(shard: str) -> None:
    """Process what has come to a shard since the last time."""
    answer = kinesis.get_records(ShardIterator=iterators.get(shard) or open_iterator(shard))
    for record in answer["Records"]:
        process(record)
    iterators[shard] = answer["NextShardIterator"]


while not stopping:
    for each in kinesis.list_shards(StreamName=STREAM)["Shards"]:
        read(each["ShardId"])
    time.sleep(0.25)
