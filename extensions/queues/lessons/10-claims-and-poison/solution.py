"""Lesson 10, Claims and poison, gold, solved.

A whole consumer. Workers share the shards by claims; all that comes of a record is one transaction.
"""

import hashlib
import json
import os
import signal
import sqlite3
import sys
import time
import uuid
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from schemas.rdss.decoration import decorate
from schemas.rdss.sequence import body_of, join
from schemas.rdss.verdicts import judge_any_release

CLAIM_SECONDS = 1.0

kinesis = boto3.client("kinesis")  # the endpoint and the keys come from the environment
stream = os.environ["SANDBOX_STREAM"]
queues = {"error": os.environ["SANDBOX_ERROR_STREAM"], "invalid": os.environ["SANDBOX_INVALID_STREAM"]}
worker = uuid.uuid4().hex
stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
database = sqlite3.connect(Path(os.environ["SANDBOX_STATE_DIR"], "consumer.sqlite3"))
database.executescript("""
    CREATE TABLE IF NOT EXISTS claims (shard PRIMARY KEY, worker, until);
    CREATE TABLE IF NOT EXISTS checkpoints (shard PRIMARY KEY, after, ended);
    CREATE TABLE IF NOT EXISTS known (name PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS parts (sequence, position, data, PRIMARY KEY (sequence, position));
""")


def claim(shard):
    """Claim a shard for this worker, or renew its claim; return whether it has the shard."""
    now = time.time()
    database.execute("INSERT OR IGNORE INTO claims VALUES (?, NULL, 0)", (shard,))
    taken = database.execute(
        "UPDATE claims SET worker = ?, until = ? WHERE shard = ? AND (worker = ? OR until < ?)",
        (worker, now + CLAIM_SECONDS, shard, worker, now),
    )
    return taken.rowcount == 1


def process(data):
    """Process a message once, or reject it."""
    if knows(digest_of(data)):  # this consumer has put it on a queue, and it came back
        return
    verdict = judge_any_release(data, now=time.time())
    if verdict.code is not None:
        reject(data, verdict.code)
        return
    message = verdict.upgraded or data
    header = json.loads(message)["messageHeader"]
    if knows(header["messageId"]):
        return
    remember(header["messageId"])
    place = header["messageSequence"]
    whole = take_part(message, place) if place["total"] > 1 else message
    if whole is not None:
        told = {"processed": header["messageId"], "sha256": digest_of(body_of(whole))}
        print(json.dumps(told), flush=True)


def reject(data, code):
    """Put a bad message on the queue of its code."""
    bad = decorate(data, code, code.description, now=time.time())
    remember(digest_of(bad))
    kinesis.put_record(StreamName=queues[code.queue.value], Data=bad, PartitionKey=str(code))


def take_part(part, place):
    """Keep a part of a sequence; return the whole message with its last part."""
    sequence = place["sequence"]
    database.execute("INSERT OR IGNORE INTO parts VALUES (?, ?, ?)", (sequence, place["position"], part))
    found = database.execute("SELECT data FROM parts WHERE sequence = ?", (sequence,)).fetchall()
    return join(data for (data,) in found) if len(found) == place["total"] else None


def digest_of(data):
    return hashlib.sha256(data).hexdigest()


def knows(name):
    """Whether a messageId, or the digest of a record, was remembered."""
    return database.execute("SELECT 1 FROM known WHERE name = ?", (name,)).fetchone() is not None


def remember(name):
    database.execute("INSERT OR IGNORE INTO known VALUES (?)", (name,))


def ready_shards():
    """The shards that are not ended, and whose parents are, each with where to go on."""
    rows = database.execute("SELECT shard, after, ended FROM checkpoints").fetchall()
    after, ended = {row[0]: row[1] for row in rows}, {row[0] for row in rows if row[2]}
    shards = kinesis.list_shards(StreamName=stream)["Shards"]
    names = {shard["ShardId"] for shard in shards}
    for shard in shards:
        parents = {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")} & names
        if shard["ShardId"] not in ended and parents <= ended:
            yield shard["ShardId"], after.get(shard["ShardId"])


def read(shard, after):
    """Read a shard on, a transaction for each record."""
    start = {"ShardIteratorType": "TRIM_HORIZON"}
    if after:
        start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
    iterator = kinesis.get_shard_iterator(StreamName=stream, ShardId=shard, **start)["ShardIterator"]
    # Few at a time, so that a worker that is asked to end is done with them soon.
    answer = kinesis.get_records(ShardIterator=iterator, Limit=5)
    for record in answer["Records"]:
        with database:
            if stopping or not claim(shard):
                return
            process(record["Data"])
            after = record["SequenceNumber"]
            database.execute("REPLACE INTO checkpoints VALUES (?, ?, 0)", (shard, after))
    if not answer.get("NextShardIterator"):
        with database:
            database.execute("REPLACE INTO checkpoints VALUES (?, ?, 1)", (shard, after))


try:
    while not stopping:
        with database:
            mine = [(shard, after) for shard, after in ready_shards() if claim(shard)]
        for shard, after in mine:
            try:
                read(shard, after)
            except (ClientError, BotoCoreError) as error:  # throttled, cut off: from the checkpoint on
                print(f"tried again: {error}", file=sys.stderr)
        time.sleep(0.25)
finally:
    with database:
        database.execute("DELETE FROM claims WHERE worker = ?", (worker,))
