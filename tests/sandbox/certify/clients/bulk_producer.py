"""A right producer that puts all that is left in one call, and what failed of it again."""

import json
import os
import sys
import time
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

STREAM = os.environ["SANDBOX_STREAM"]
SENT = Path(os.environ["SANDBOX_STATE_DIR"], "sent.txt")
kinesis = boto3.client("kinesis", config=Config(retries={"total_max_attempts": 1}))
sent = set(SENT.read_text().split()) if SENT.exists() else set()
lines = Path(os.environ["SANDBOX_MESSAGES"]).read_bytes().splitlines()
left = [(json.loads(line)["messageHeader"]["messageId"], line) for line in lines]
left = [each for each in left if each[0] not in sent]


def put(batch: list) -> list:
    """Put a batch; return what failed."""
    records = [{"Data": line, "PartitionKey": name} for name, line in batch]
    try:
        answers = kinesis.put_records(StreamName=STREAM, Records=records)["Records"]
    except (ClientError, BotoCoreError) as error:
        print(f"tried again: {error}", file=sys.stderr)
        return batch
    failed = []
    with SENT.open("a") as kept:
        for (name, line), answer in zip(batch, answers):
            if "ErrorCode" in answer:
                failed.append((name, line))
            else:
                kept.write(f"{name}\n")
                kept.flush()
                print(json.dumps({"sent": name}), flush=True)
    return failed


pause = 0.2
while left:
    left = put(left[:500]) + left[500:]
    if left:
        time.sleep(pause)
        pause = min(pause * 2, 2.0)
