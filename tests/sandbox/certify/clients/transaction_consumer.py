"""A right consumer that commits a batch at once: its effects, their messageIds and the checkpoint.

The effects are lines in an outbox, which are printed after the commit and then deleted, one by one.
"""

import hashlib
import json
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

STREAM = os.environ["SANDBOX_STREAM"]
kinesis = boto3.client("kinesis")
database = sqlite3.connect(Path(os.environ["SANDBOX_STATE_DIR"], "consumer.sqlite3"), isolation_level=None)
database.executescript("""
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS outbox (number INTEGER PRIMARY KEY, line TEXT);
    CREATE TABLE IF NOT EXISTS shard (id TEXT PRIMARY KEY, after TEXT, ended INTEGER DEFAULT 0);
""")
iterators: dict[str, str] = {}
stopping: list[int] = []
signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))


def take(data: bytes) -> None:
    """Write the effect of a message that did not come before."""
    message_id = json.loads(data)["messageHeader"]["messageId"]
    if not database.execute("INSERT OR IGNORE INTO message VALUES (?)", (message_id,)).rowcount:
        return
    text = data.decode()
    start = text.index('"messageBody":') + len('"messageBody":')
    body = text[start : json.JSONDecoder().raw_decode(text, start)[1]]
    line = json.dumps({"processed": message_id, "sha256": hashlib.sha256(body.encode()).hexdigest()})
    database.execute("INSERT INTO outbox (line) VALUES (?)", (line,))


def take_batch(shard_id: str, records: list, ended: bool) -> None:
    """Take an answer in one transaction."""
    database.execute("BEGIN IMMEDIATE")
    for record in records:
        take(record["Data"])
    database.execute("INSERT OR IGNORE INTO shard (id) VALUES (?)", (shard_id,))
    if records:
        after = records[-1]["SequenceNumber"]
        database.execute("UPDATE shard SET after = ? WHERE id = ?", (after, shard_id))
    if ended:
        database.execute("UPDATE shard SET ended = 1 WHERE id = ?", (shard_id,))
    database.execute("COMMIT")


def empty_outbox() -> None:
    for number, line in database.execute("SELECT number, line FROM outbox ORDER BY number").fetchall():
        print(line, flush=True)
        database.execute("DELETE FROM outbox WHERE number = ?", (number,))


def open_iterator(shard_id: str) -> str:
    row = database.execute("SELECT after FROM shard WHERE id = ?", (shard_id,)).fetchone()
    place = {"ShardIteratorType": "TRIM_HORIZON"}
    if row and row[0]:
        place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": row[0]}
    return kinesis.get_shard_iterator(StreamName=STREAM, ShardId=shard_id, **place)["ShardIterator"]


def read(shard_id: str) -> None:
    iterator = iterators.pop(shard_id, None) or open_iterator(shard_id)
    answer = kinesis.get_records(ShardIterator=iterator, Limit=100)
    following = answer.get("NextShardIterator")
    if answer["Records"] or following is None:
        take_batch(shard_id, answer["Records"], following is None)
        empty_outbox()
    if following:
        iterators[shard_id] = following


def find_ready_shards() -> list[str]:
    """The shards that have not ended and whose parents have."""
    ended = {row[0] for row in database.execute("SELECT id FROM shard WHERE ended")}
    shards = kinesis.list_shards(StreamName=STREAM)["Shards"]
    unread = {shard["ShardId"] for shard in shards} - ended
    return [
        shard["ShardId"]
        for shard in shards
        if shard["ShardId"] in unread
        and not {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")} & unread
    ]


empty_outbox()
while not stopping:
    try:
        for each in find_ready_shards():
            read(each)
    except (ClientError, BotoCoreError) as error:
        print(f"read again: {error}", file=sys.stderr)
    time.sleep(0.25)
