"""Lesson 5, Throttling and back-off: a client that tries again, longer and longer apart."""

import json
import os
import sys
import time
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

STREAM = os.environ["SANDBOX_STREAM"]
SENT = Path(os.environ["SANDBOX_STATE_DIR"], "sent.txt")
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 30.0
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
    pause = FIRST_PAUSE_SECONDS
    while not put(message_id, line):
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


for line in Path(os.environ["SANDBOX_MESSAGES"]).read_bytes().splitlines():
    message_id = json.loads(line)["messageHeader"]["messageId"]
    if message_id not in sent:
        send(message_id, line)
