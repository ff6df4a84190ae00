"""A right handler that answers which records have failed, with the mapping's ReportBatchItemFailures.

Of a stream it stops at the first one: what lies behind it comes again with it. A queue has no order.
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


def read(record: dict) -> tuple[str, bytes]:
    """The identifier of a record in an answer, and its data."""
    if "kinesis" in record:
        return record["kinesis"]["sequenceNumber"], base64.b64decode(record["kinesis"]["data"])
    return record["messageId"], record["body"].encode()


def body_digest(data: bytes) -> str:
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


def handler(event: dict, context: object) -> dict:
    failures = []
    for record in event["Records"]:
        identifier, data = read(record)
        try:
            if context.get_remaining_time_in_millis() < 200:
                raise TimeoutError
            process(data)
        except (ValueError, KeyError, TimeoutError) as error:
            print(f"failed: {identifier}: {error!r}")
            failures.append({"itemIdentifier": identifier})
            if "kinesis" in record:
                break
    return {"batchItemFailures": failures}
