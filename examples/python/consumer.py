"""A consumer that reaches gold: it loses nothing, processes nothing twice, and keeps the contract."""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import boto3
import contract
from botocore.exceptions import BotoCoreError, ClientError

STREAM = os.environ["SANDBOX_STREAM"]
QUEUES = {"GENERR003": os.environ["SANDBOX_ERROR_STREAM"]}  # all other codes: the invalid queue
INVALID = os.environ["SANDBOX_INVALID_STREAM"]
STATE = Path(os.environ["SANDBOX_STATE_DIR"])

kinesis = boto3.client("kinesis")
stopping = []
signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))


class Journal:
    """What is done, on disk: one line a record, so that a checkpoint and what it stands for are one write."""

    def __init__(self, path):
        self.done, self.after, self.ended, self.published = set(), {}, set(), set()
        path.touch()
        whole = path.read_bytes().rpartition(b"\n")[0]  # a kill may have cut the last line off
        os.truncate(path, len(whole) + bool(whole))
        for line in whole.splitlines():
            self._take(json.loads(line))
        self.file = path.open("a")

    def write(self, **entry):
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()
        self._take(entry)

    def _take(self, entry):
        if "done" in entry:
            self.done.add(entry["done"])
        if "after" in entry:
            self.after[entry["shard"]] = entry["after"]
        if "ended" in entry:
            self.ended.add(entry["ended"])
        if "published" in entry:
            self.published.add(entry["published"])


journal = Journal(STATE / "journal.ndjson")


# Messages


def process(data):
    """Process a message, and return the name by which it is known when it comes again."""
    if digest(data) in journal.published:
        return f"published {digest(data)}"  # an echo of what the consumer itself has published
    message, code = contract.read(data)
    if code:
        return reject(data, code)
    place = message["messageHeader"]["messageSequence"]
    part = contract.is_part(message)
    name = f"{place['sequence']}/{place['position']}" if part else message["messageHeader"]["messageId"]
    if name not in journal.done:
        if part:
            take_part(message, data)
        else:
            work(message, contract.body_text(data))
    return name


def work(message, body):
    """The work of the application comes here. It is done before the checkpoint is written."""
    name = message["messageHeader"]["messageId"]
    print(json.dumps({"processed": name, "sha256": digest(body.encode())}), flush=True)


def take_part(message, data):
    """Keep a part of a sequence on disk; process the message when all parts are there."""
    place = message["messageHeader"]["messageSequence"]
    folder = STATE / "parts" / place["sequence"]
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / "draft"
    draft.write_bytes(data)
    draft.replace(folder / f"{place['position']}.json")
    parts = list(folder.glob("*.json"))
    if len(parts) < place["total"]:
        return
    whole = contract.join(each.read_bytes() for each in parts)
    message, code = contract.read(whole, joined=True)
    if code is None:
        work(message, contract.body_text(whole))
        return
    for each in parts:
        reject(each.read_bytes(), code)


def reject(data, code):
    """Put a message on the queue of its code, once."""
    name = f"rejected {digest(data)}"
    if name not in journal.done:
        bad = contract.decorate(data, code)
        journal.write(published=digest(bad))
        stream = QUEUES.get(code, INVALID)
        kinesis.put_record(StreamName=stream, Data=bad, PartitionKey=digest(data))
    return name


def digest(data):
    return hashlib.sha256(data).hexdigest()


# Shards


iterators = {}


def list_ready_shards():
    """The shards to read: their parents were read to the end, or are gone."""
    pages = kinesis.get_paginator("list_shards").paginate(StreamName=STREAM)
    shards = [shard for page in pages for shard in page["Shards"]]
    there = {shard["ShardId"] for shard in shards} - journal.ended
    for shard in shards:
        parents = {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")}
        if shard["ShardId"] in there and not parents & there:
            yield shard["ShardId"]


def open_iterator(shard):
    """An iterator after the checkpoint; without one, from the shard's first record."""
    after = journal.after.get(shard)
    place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
    start = place if after else {"ShardIteratorType": "TRIM_HORIZON"}
    return kinesis.get_shard_iterator(StreamName=STREAM, ShardId=shard, **start)["ShardIterator"]


def read(shard):
    if shard not in iterators:
        iterators[shard] = open_iterator(shard)
    try:
        answer = kinesis.get_records(ShardIterator=iterators[shard], Limit=100)
    except kinesis.exceptions.ExpiredIteratorException:
        del iterators[shard]  # the next one begins after the checkpoint
        return
    following = answer.get("NextShardIterator")
    iterators.pop(shard)  # kept again when all records are processed
    for record in answer["Records"]:
        done = process(record["Data"])
        journal.write(done=done, shard=shard, after=record["SequenceNumber"])
        if stopping:
            sys.exit(0)
    if following:
        iterators[shard] = following
    else:
        journal.write(ended=shard)


def read_all():
    """Read each shard once; return whether all went well. What failed is tried again, by the next round."""
    well = True
    try:
        shards = list(list_ready_shards())
    except (ClientError, BotoCoreError) as error:
        print(f"cannot list the shards: {error}", file=sys.stderr)
        return False
    for shard in shards:
        try:
            read(shard)
        except (ClientError, BotoCoreError) as error:
            print(f"cannot read {shard}: {error}", file=sys.stderr)
            well = False
    return well


pause = 0.25  # a shard can be read five times a second
while not stopping:
    pause = 0.25 if read_all() else min(2 * pause, 8)
    time.sleep(pause)
