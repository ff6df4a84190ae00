"""Lesson 5, Throttling and back-off: this client is broken on purpose.

It sends the messages of a file, and remembers which of them the stream has.
"""

import json
import os
import sys
import time
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

print("this client is broken on purpose: lesson 5", file=sys.stderr)

STREAM = os.environ["SANDBOX_STREAM"]
SENT = Path(os.environ["SANDBOX_STATE_DIR"], "sent.txt")
TRIES = 2
PAUSE_SECONDS = 0.2
# The SDK's own retries are off, so that all that happens is to be seen here.
kinesis = boto3.client("kinesis", config=Config(retries={"total_max_attempts": 1}))
sent = set(SENT.read_text().split()) if SENT.exists() else set()


def put(message_id: str, line: bytes) -> bool:
    """Put a message on the stream; return whether the stream has it."""
    try:
        kinesis.put_record(StreamName=STREAM, Data=line, PartitionKey=message_id)
    except ClientError as error:
        print(f"refused: {error}", file=sys.stderr)
        return False
    with SENT.open("a") as file:
        file.write(f"{message_id}\n")
    print(json.dumps({"sent": message_id}), flush=True)
    return True


def send(message_id: str, line: bytes) -> None:
    """Put a message on the stream, and try again when it is refused."""
    for _ in range(TRIES):
        if put(message_id, line):
            return
        time.sleep(PAUSE_SECONDS)
    print(f"gave up: {message_id}", file=sys.stderr)


for line in Path(os.environ["SANDBOX_MESSAGES"]).read_bytes().splitlines():
    message_id = json.loads(line)["messageHeader"]["messageId"]
    if message_id not in sent:
        send(message_id, line)
