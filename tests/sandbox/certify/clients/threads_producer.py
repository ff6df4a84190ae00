"""A right producer with worker threads: four messages under way, and a file of what was sent."""

import json
import os
import queue
import sys
import threading
import time
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

STREAM = os.environ["SANDBOX_STREAM"]
SENT = Path(os.environ["SANDBOX_STATE_DIR"], "sent.txt")
WORKERS = 4
kinesis = boto3.client("kinesis", config=Config(retries={"total_max_attempts": 1}))
telling = threading.Lock()
work: queue.Queue = queue.Queue()


def tell(message_id: str) -> None:
    """Keep that a message was sent, and print it."""
    with telling:
        with SENT.open("a") as file:
            file.write(f"{message_id}\n")
        print(json.dumps({"sent": message_id}), flush=True)


def send(message_id: str, line: bytes) -> None:
    for attempt in range(100):
        try:
            kinesis.put_record(StreamName=STREAM, Data=line, PartitionKey=message_id)
        except (ClientError, BotoCoreError) as error:
            print(f"try {attempt + 1} of {message_id}: {error}", file=sys.stderr)
            time.sleep(min(0.2 * 2**attempt, 10))
            continue
        tell(message_id)
        return
    sys.exit(f"{message_id} cannot be sent")


def work_off() -> None:
    while True:
        try:
            message_id, line = work.get_nowait()
        except queue.Empty:
            return
        send(message_id, line)


sent = set(SENT.read_text().split()) if SENT.exists() else set()
for each in Path(os.environ["SANDBOX_MESSAGES"]).read_bytes().splitlines():
    name = json.loads(each)["messageHeader"]["messageId"]
    if name not in sent:
        work.put((name, each))
workers = [threading.Thread(target=work_off) for _ in range(WORKERS)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
