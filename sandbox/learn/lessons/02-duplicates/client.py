"""Lesson 2, Duplicates: this client is broken on purpose.

It reads all that the stream keeps, and remembers in a file what it has processed.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import boto3

print("this client is broken on purpose: lesson 2", file=sys.stderr)

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
    known_as = record["SequenceNumber"]
    if known_as in done:
        return
    print(json.dumps({"processed": message_id}), flush=True)
    done.add(known_as)
    with DONE.open("a") as file:
        file.write(f"{known_as}\n")


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
