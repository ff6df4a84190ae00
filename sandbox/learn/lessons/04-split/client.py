"""Lesson 4, A split under load: this client is broken on purpose.

It reads every shard to its end. A read that fails is tried again in the next round.
"""

import json
import os
import signal
import sys
import time

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

print("this client is broken on purpose: lesson 4", file=sys.stderr)

STREAM = os.environ["SANDBOX_STREAM"]
kinesis = boto3.client("kinesis", config=Config(retries={"total_max_attempts": 1}))
iterators: dict[str, str] = {}
ended: set[str] = set()
stopping: list[int] = []
signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))


def process(record: dict) -> None:
    """Do the work, and tell that it is done."""
    message_id = json.loads(record["Data"])["messageHeader"]["messageId"]
    print(json.dumps({"processed": message_id}), flush=True)


def open_iterator(shard: str) -> str:
    """Begin to read a shard, with the oldest record that the stream keeps."""
    answer = kinesis.get_shard_iterator(StreamName=STREAM, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    return answer["ShardIterator"]


def read(shard: str) -> None:
    """Process what has come to a shard since the last time."""
    try:
        answer = kinesis.get_records(ShardIterator=iterators.get(shard) or open_iterator(shard))
    except (ClientError, BotoCoreError) as error:
        print(f"tried again: {error}", file=sys.stderr)
        return
    for record in answer["Records"]:
        process(record)
    if answer.get("NextShardIterator"):
        iterators[shard] = answer["NextShardIterator"]
    else:  # The shard is closed, and this was the last of it.
        ended.add(shard)


shards = kinesis.list_shards(StreamName=STREAM)["Shards"]


def shards_to_read() -> list[str]:
    """The shards to read in this round."""
    return [shard["ShardId"] for shard in shards if shard["ShardId"] not in ended]


while not stopping:
    for each in shards_to_read():
        read(each)
    time.sleep(0.25)
