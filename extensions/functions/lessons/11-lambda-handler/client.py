"""Lesson 11, A Lambda handler: this client is broken on purpose.

A handler of AWS Lambda, and below it the event source mapping that hands it batches of a stream.
"""

import base64
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

print("this client is broken on purpose: lesson 11", file=sys.stderr)

kinesis = boto3.client("kinesis")  # the endpoint and the keys come from the environment
queues = {"error": os.environ["SANDBOX_ERROR_STREAM"], "invalid": os.environ["SANDBOX_INVALID_STREAM"]}


def handler(event, context):
    """Process a batch of records of one shard."""
    for record in event["Records"]:
        process(base64.b64decode(record["kinesis"]["data"]))


def process(data):
    """Process a message. Raises ValueError for one that cannot be processed."""
    code = judge(data, now=time.time()).code
    if code is not None:
        raise ValueError(f"{code}: {code.description}")
    print(json.dumps({"processed": json.loads(data)["messageHeader"]["messageId"]}), flush=True)


def reject(data):
    """Put a bad message on the queue of its code, with the code in its header."""
    code = judge(data, now=time.time()).code
    bad = decorate(data, code, code.description, now=time.time())
    kinesis.put_record(StreamName=queues[code.queue.value], Data=bad, PartitionKey=str(code))


# From here on all is well: what Lambda's mapping does, with ReportBatchItemFailures. A batch that fails comes
# again; where the answer names a record, it comes again from that record on.


def hand_over(shard):
    start = {"ShardIteratorType": "TRIM_HORIZON"}
    if after := state["after"].get(shard):
        start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
    iterator = kinesis.get_shard_iterator(StreamName=stream, ShardId=shard, **start)["ShardIterator"]
    answer = kinesis.get_records(ShardIterator=iterator, Limit=10)
    if answer["Records"]:
        event = {"Records": [describe(shard, record) for record in answer["Records"]]}
        done = count_done(handler(event, None), [each["SequenceNumber"] for each in answer["Records"]])
        if done:
            save(shard, answer["Records"][done - 1]["SequenceNumber"])
    elif not answer.get("NextShardIterator"):
        state["ended"].append(shard)
        save(shard, after)


def describe(shard, record):
    data = base64.b64encode(record["Data"]).decode()
    number = record["SequenceNumber"]
    told = {"data": data, "partitionKey": record["PartitionKey"], "sequenceNumber": number}
    return {"kinesis": told, "eventID": f"{shard}:{number}", "eventSource": "aws:kinesis"}


def count_done(answer, numbers):
    failed = [each["itemIdentifier"] for each in (answer or {}).get("batchItemFailures") or ()]
    return min((numbers.index(each) for each in failed), default=len(numbers))


def save(shard, after):
    state["after"][shard] = after
    draft = checkpoint.with_suffix(".draft")
    draft.write_text(json.dumps(state))
    draft.replace(checkpoint)


if __name__ == "__main__":
    stream = os.environ["SANDBOX_STREAM"]
    checkpoint = Path(os.environ["SANDBOX_STATE_DIR"], "checkpoint.json")
    state = json.loads(checkpoint.read_text()) if checkpoint.exists() else {"after": {}, "ended": []}
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    while not stopping:
        shards = kinesis.list_shards(StreamName=stream)["Shards"]
        known = {shard["ShardId"] for shard in shards}
        for shard in shards:
            parents = {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")} & known
            if shard["ShardId"] not in state["ended"] and parents <= set(state["ended"]):
                try:
                    hand_over(shard["ShardId"])
                except (BotoCoreError, ClientError, ValueError) as error:
                    print(f"the batch comes again: {error}", file=sys.stderr)
        time.sleep(0.25)
