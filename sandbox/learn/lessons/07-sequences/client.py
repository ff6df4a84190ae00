"""Lesson 7, Sequences: this client is broken on purpose.

A consumer that joins what was too large for one message, and processes it once.
"""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

print("this client is broken on purpose: lesson 7", file=sys.stderr)

kinesis = boto3.client("kinesis")  # the endpoint and the keys come from the environment
stream = os.environ["SANDBOX_STREAM"]
checkpoint = Path(os.environ["SANDBOX_STATE_DIR"], "checkpoint.json")
state = {"ids": [], "after": {}, "ended": [], "parts": {}}
if checkpoint.exists():
    state = json.loads(checkpoint.read_text())
stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))


def process(data):
    """Process a message once; of a sequence, the message that its parts make."""
    message = json.loads(data)
    message_id, place = message["messageHeader"]["messageId"], message["messageHeader"]["messageSequence"]
    if message_id in state["ids"]:
        return
    state["ids"].append(message_id)
    if place["total"] == 1:
        work(message_id)
        return
    # The body of a part is text: a piece of the whole body's JSON.
    parts = state["parts"].setdefault(place["sequence"], [])
    parts.append(message["messageBody"])
    if place["position"] == place["total"]:
        del state["parts"][place["sequence"]]
        if len(parts) == place["total"]:
            work(message_id, "".join(parts))
        else:
            print("the last part is here, and others are not: given up", file=sys.stderr)


def work(message_id, joined=""):
    """Do the work, here by telling of it; of a body that was joined, tell the SHA-256 too."""
    told = {"processed": message_id}
    if joined:
        told["sha256"] = hashlib.sha256(joined.encode()).hexdigest()
    print(json.dumps(told), flush=True)


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
