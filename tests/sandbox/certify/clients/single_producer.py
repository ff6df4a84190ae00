"""A right producer that puts record by record: a table of what is pending, and a longer pause each time."""

import json
import os
import sqlite3
import sys
import time
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

STREAM = os.environ["SANDBOX_STREAM"]
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
kinesis = boto3.client("kinesis", config=Config(retries={"total_max_attempts": 1}))
database = sqlite3.connect(Path(os.environ["SANDBOX_STATE_DIR"], "pending.sqlite3"), isolation_level=None)
database.executescript("""
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, line BLOB, sent INTEGER DEFAULT 0);
""")


def load_messages() -> None:
    """Put the messages of the file that are not in the table into it."""
    database.execute("BEGIN")
    for line in Path(os.environ["SANDBOX_MESSAGES"]).read_bytes().splitlines():
        message_id = json.loads(line)["messageHeader"]["messageId"]
        database.execute("INSERT OR IGNORE INTO message (id, line) VALUES (?, ?)", (message_id, line))
    database.execute("COMMIT")


def mark_sent(message_id: str) -> None:
    database.execute("UPDATE message SET sent = 1 WHERE id = ?", (message_id,))


def send(message_id: str, line: bytes) -> None:
    """Put a message until the stream has it."""
    pause = FIRST_PAUSE
    while True:
        try:
            kinesis.put_record(StreamName=STREAM, Data=line, PartitionKey=message_id)
            break
        except (ClientError, BotoCoreError) as error:
            print(f"{message_id} is put again in {pause} s: {error}", file=sys.stderr)
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
    mark_sent(message_id)
    print(json.dumps({"sent": message_id}), flush=True)


load_messages()
for row in database.execute("SELECT id, line FROM message WHERE NOT sent ORDER BY rowid").fetchall():
    send(*row)
