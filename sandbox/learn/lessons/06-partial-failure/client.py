"""Lesson 6, Partial failure: this client is broken on purpose.

A producer that puts the messages of a file into a stream, seven a call, and tells of each one that is in it.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

print("this client is broken on purpose: lesson 6", file=sys.stderr)

kinesis = boto3.client("kinesis")  # the endpoint and the keys come from the environment
stream = os.environ["SANDBOX_STREAM"]
sent_file = Path(os.environ["SANDBOX_STATE_DIR"], "sent.txt")
stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))


def tell(message_id):
    """Write down, and say, that the stream has this message."""
    with sent_file.open("a") as file:
        file.write(f"{message_id}\n")
    print(json.dumps({"sent": message_id}), flush=True)


def put(batch):
    """Put a batch; return the messages that have to be put again."""
    records = [{"Data": line, "PartitionKey": message_id} for message_id, line in batch]
    try:
        kinesis.put_records(StreamName=stream, Records=records)
    except (ClientError, BotoCoreError) as error:
        print(f"the call failed: {error}", file=sys.stderr)
        return batch
    for message_id, _ in batch:
        tell(message_id)
    return []


sent = set(sent_file.read_text().split()) if sent_file.exists() else set()
lines = Path(os.environ["SANDBOX_MESSAGES"]).read_bytes().splitlines()
messages = [(json.loads(line)["messageHeader"]["messageId"], line) for line in lines]
left = [message for message in messages if message[0] not in sent]

while left and not stopping:
    batch, left = left[:7], left[7:]
    pause = 0.2
    while batch := put(batch):
        time.sleep(pause)
        pause *= 2
