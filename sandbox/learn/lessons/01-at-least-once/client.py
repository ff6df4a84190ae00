"""Lesson 1, The at-least-once world: this client is broken on purpose.

It reads every shard of the stream and tells which messages it has processed.
"""

import json
import os
import signal
import sys
import time

import boto3

print("this client is broken on purpose: lesson 1", file=sys.stderr)

STREAM = os.environ["SANDBOX_STREAM"]
kinesis = boto3.client("kinesis")  # the endpoint and the keys come from the environment
iterators: dict[str, str] = {}
stopping: list[int] = []
signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))


def open_iterator(shard: str) -> str:
    """Begin to read a shard."""
    answer = kinesis.get_shard_iterator(StreamName=STREAM, ShardId=shard, ShardIteratorType="LATEST")
    return answer["ShardIterator"]


def process(record: dict) -> None:
    """Do the work, and tell that it is done."""
    message_id = json.loads(record["Data"])["messageHeader"]["messageId"]
    print(json.dumps({"processed": message_id}), flush=True)


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
