"""A right handler of a queue that deletes what it has processed by itself, and raises for the rest."""

import hashlib
import json
import os
import sqlite3
from pathlib import Path

import boto3

sqs = boto3.client("sqs")
url = sqs.get_queue_url(QueueName=os.environ["SANDBOX_QUEUE"])["QueueUrl"]
database = sqlite3.connect(
    Path(os.environ["SANDBOX_STATE_DIR"], "handler.sqlite3"), isolation_level=None, timeout=30
)
database.execute("PRAGMA synchronous = OFF")
database.execute("CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY)")


def body_digest(text: str) -> str:
    start = text.index('"messageBody":') + len('"messageBody":')
    body = text[start : json.JSONDecoder().raw_decode(text, start)[1]]
    return hashlib.sha256(body.encode()).hexdigest()


def is_new(message_id: str) -> bool:
    return database.execute("SELECT 1 FROM message WHERE id = ?", (message_id,)).fetchone() is None


def process(text: str) -> None:
    message_id = json.loads(text)["messageHeader"]["messageId"]
    if is_new(message_id):
        print(json.dumps({"processed": message_id, "sha256": body_digest(text)}))
        database.execute("INSERT OR IGNORE INTO message VALUES (?)", (message_id,))


def handler(event: dict, context: object) -> None:
    del context
    done, failed = [], []
    for record in event["Records"]:
        try:
            process(record["body"])
            done.append(record)
        except (ValueError, KeyError) as error:
            failed.append(error)
    if failed:
        for record in done:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=record["receiptHandle"])
        raise failed[0]
