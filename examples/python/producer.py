"""A producer that reaches gold: it sends each message of a file, whole, and tells what the stream has."""

import json
import os
import sys
import time
from pathlib import Path

import boto3
import contract
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

STREAM = os.environ["SANDBOX_STREAM"]
SENT = Path(os.environ["SANDBOX_STATE_DIR"], "sent.txt")
BATCH = 25
BATCH_BYTES = 4_000_000

# This program makes the retries itself, with the pauses of the specification.
kinesis = boto3.client("kinesis", config=Config(retries={"total_max_attempts": 1}))
sent = set(SENT.read_text().split()) if SENT.exists() else set()


def list_batches():
    """The messages that are left, in batches of (header, records)."""
    batch = []
    with Path(os.environ["SANDBOX_MESSAGES"]).open("rb") as file:
        for line in map(bytes.strip, file):
            header = json.loads(line)["messageHeader"]
            if header["messageId"] in sent:
                continue
            records = contract.split(line) if len(line) > contract.MOST_BYTES else [line]
            batch.append((header, records))
            if len(batch) == BATCH:
                yield batch
                batch = []
    yield batch


def by_size(records):
    """Cut a list of (messageId, record) pairs into those of one call."""
    call, size = [], 0
    for name, record in records:
        if size + len(record) > BATCH_BYTES:
            yield call
            call, size = [], 0
        call.append((name, record))
        size += len(record)
    if call:
        yield call


def put(records):
    """Put (messageId, record) pairs, and return those that failed."""
    entries = [{"Data": record, "PartitionKey": name} for name, record in records]
    try:
        answers = kinesis.put_records(StreamName=STREAM, Records=entries)["Records"]
    except (ClientError, BotoCoreError) as error:
        print(f"tries again: {error}", file=sys.stderr)
        return records
    return [record for record, answer in zip(records, answers) if "ErrorCode" in answer]


def send(batch):
    """Send a batch until the stream has all of it. Each message is told of as soon as it is there."""
    waiting = {header["messageId"]: header for header, _ in batch}
    left = [(header["messageId"], record) for header, records in batch for record in records]
    pause = 0.2
    while True:
        expired = {name for name, header in waiting.items() if contract.has_expired(header)}
        for name in expired:
            print(f"{name} has expired and is not sent: GENERR003", file=sys.stderr)
            del waiting[name]
        left = [(name, record) for name, record in left if name in waiting]
        left = [failed for records in by_size(left) for failed in put(records)]
        missing = {name for name, _ in left}
        for name in waiting.keys() - missing:
            tell(name)
            del waiting[name]
        if not left:
            return
        time.sleep(pause)
        pause *= 2


def tell(name):
    """Keep the name on disk first: what was told is never sent again."""
    with SENT.open("a") as file:
        file.write(f"{name}\n")
    print(json.dumps({"sent": name}), flush=True)


for each in list_batches():
    send(each)
