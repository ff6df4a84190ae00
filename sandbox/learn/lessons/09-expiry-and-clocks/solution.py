"""Lesson 9, Expiry and clocks, solved.

A consumer that does not work for those who have stopped waiting.
"""

import json
import os
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

kinesis = boto3.client("kinesis")  # the endpoint and the keys come from the environment
stream, error_queue = os.environ["SANDBOX_STREAM"], os.environ["SANDBOX_ERROR_STREAM"]
checkpoint = Path(os.environ["SANDBOX_STATE_DIR"], "checkpoint.json")
state = {"ids": [], "after": {}, "ended": []}
if checkpoint.exists():
    state = json.loads(checkpoint.read_text())
stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))


def process(data):
    """Process a message once, unless it has expired."""
    message = json.loads(data)
    header = message["messageHeader"]
    if header["messageId"] in state["ids"]:
        return
    if has_expired(header["messageTimings"]):
        header["errorCode"] = "GENERR003"
        header["errorDescription"] = "The message had expired when its delivery was attempted."
        bad = json.dumps(message, ensure_ascii=False).encode()
        kinesis.put_record(StreamName=error_queue, Data=bad, PartitionKey=header["messageId"])
    else:
        print(json.dumps({"processed": header["messageId"]}), flush=True)
    state["ids"].append(header["messageId"])


def has_expired(timings):
    """Whether the time is over until which somebody waits; some messages have none."""
    if "expirationTimestamp" not in timings:
        return False
    expires = datetime.fromisoformat(timings["expirationTimestamp"])
    return expires < datetime.now(UTC)


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
