"""Lesson 8, Bad messages and the error queue, solved.

A consumer that judges each message, and processes those that are valid.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from schemas.rdss.decoration import decorate
from schemas.rdss.verdicts import judge

kinesis = boto3.client("kinesis")  # the endpoint and the keys come from the environment
stream = os.environ["SANDBOX_STREAM"]
queues = {"error": os.environ["SANDBOX_ERROR_STREAM"], "invalid": os.environ["SANDBOX_INVALID_STREAM"]}
checkpoint = Path(os.environ["SANDBOX_STATE_DIR"], "checkpoint.json")
state = {"ids": [], "after": {}, "ended": []}
if checkpoint.exists():
    state = json.loads(checkpoint.read_text())
stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))


def process(data):
    """Process a message once, if it can be processed."""
    code = judge(data, now=time.time()).code
    if code is not None:
        bad = decorate(data, code, code.description, now=time.time())
        kinesis.put_record(StreamName=queues[code.queue.value], Data=bad, PartitionKey=str(code))
        return
    message_id = json.loads(data)["messageHeader"]["messageId"]
    if message_id not in state["ids"]:
        print(json.dumps({"processed": message_id}), flush=True)
        state["ids"].append(message_id)


# From here on all is well: each shard after its parents, from the checkpoint, a record at a time.


def save():
    draft = checkpoint.with_suffix(".draft")
    draft.write_text(json.dumps(state))
    draft.replace(checkpoint)


def read(shard):
    start = {"ShardIteratorType": "TRIM_HORIZON"}
    if after := state["after"].get(shard):
        start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
    iterator = kinesis.get_shard_iterator(StreamName=stream, ShardId=shard, **start)["ShardIterator"]
    answer = kinesis.get_records(ShardIterator=iterator)
    for record in answer["Records"]:
        process(record["Data"])
        state["after"][shard] = record["SequenceNumber"]
        save()
    if not answer.get("NextShardIterator"):
        state["ended"].append(shard)
        save()


while not stopping:
    shards = kinesis.list_shards(StreamName=stream)["Shards"]
    known = {shard["ShardId"] for shard in shards}
    for shard in shards:
        parents = {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")} & known
        if shard["ShardId"] not in state["ended"] and parents <= set(state["ended"]):
            try:
                read(shard["ShardId"])
            except (ClientError, BotoCoreError) as error:
                print(f"tried again: {error}", file=sys.stderr)
    time.sleep(0.25)
