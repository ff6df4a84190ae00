"""A right handler that raises at what it cannot process: the mapping tries again, and isolates it.

It reads streams and queues. A batch of a queue is to have one message, and that of a stream to be bisected.
"""

import base64
import hashlib
import json
import os
import sqlite3
from pathlib import Path

database = sqlite3.connect(
    Path(os.environ["SANDBOX_STATE_DIR"], "handler.sqlite3"), isolation_level=None, timeout=30
)
database.execute("PRAGMA synchronous = OFF")
database.execute("CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY)")


def read(record: dict) -> bytes:
    if "kinesis" in record:
        return base64.b64decode(record["kinesis"]["data"])
    return record["body"].encode()


def body_digest(data: bytes) -> str:
    """The SHA-256 of the body's text as it came."""
    text = data.decode()
    start = text.index('"messageBody":') + len('"messageBody":')
    body = text[start : json.JSONDecoder().raw_decode(text, start)[1]]
    return hashlib.sha256(body.encode()).hexdigest()


def is_new(message_id: str) -> bool:
    return database.execute("SELECT 1 FROM message WHERE id = ?", (message_id,)).fetchone() is None


def process(data: bytes) -> None:
    message_id = json.loads(data)["messageHeader"]["messageId"]
    if is_new(message_id):
        print(json.dumps({"processed": message_id, "sha256": body_digest(data)}))
        database.execute("INSERT OR IGNORE INTO message VALUES (?)", (message_id,))


def handler(event: dict, context: object) -> None:
    del context
    for record in event["Records"]:
        process(read(record))
