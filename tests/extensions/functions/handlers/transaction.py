"""A right handler of a stream that commits a batch at once: its effects and their messageIds.

The line is told before the commit. What cannot be processed rolls the batch back, and is raised.
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
database.execute("CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, body TEXT)")


def body_digest(data: bytes) -> str:
    text = data.decode()
    start = text.index('"messageBody":') + len('"messageBody":')
    body = text[start : json.JSONDecoder().raw_decode(text, start)[1]]
    return hashlib.sha256(body.encode()).hexdigest()


def take(data: bytes) -> tuple[str, str] | None:
    """Write the effect of a message that did not come before; return its id and digest."""
    message_id, digest = json.loads(data)["messageHeader"]["messageId"], body_digest(data)
    done = database.execute("INSERT OR IGNORE INTO message VALUES (?, ?)", (message_id, digest))
    return (message_id, digest) if done.rowcount else None


def handler(event: dict, context: object) -> None:
    del context
    database.execute("BEGIN IMMEDIATE")
    try:
        taken = [take(base64.b64decode(record["kinesis"]["data"])) for record in event["Records"]]
        new = [each for each in taken if each]
        if new:
            print(json.dumps({"processed": [each[0] for each in new], "sha256": [each[1] for each in new]}))
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise
