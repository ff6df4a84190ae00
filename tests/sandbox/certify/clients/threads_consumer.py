"""A right consumer with a thread for each shard: a checkpoint file a shard, and a file of messageIds."""

import hashlib
import json
import os
import signal
import sys
import threading
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

STREAM = os.environ["SANDBOX_STREAM"]
FOLDER = Path(os.environ["SANDBOX_STATE_DIR"])
IDS = FOLDER / "ids.txt"
SHARD_END = "SHARD_END"
PAUSE = 0.25

kinesis = boto3.client("kinesis")
processing = threading.Lock()
stopping = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stopping.set())
processed = set(IDS.read_text().split()) if IDS.exists() else set()


def load_checkpoint(shard_id: str) -> str | None:
    file = FOLDER / f"{shard_id}.checkpoint"
    return file.read_text() if file.exists() else None


def save_checkpoint(shard_id: str, sequence_number: str) -> None:
    draft = FOLDER / f"{shard_id}.draft"
    draft.write_text(sequence_number)
    draft.replace(FOLDER / f"{shard_id}.checkpoint")


def has_ended(shard_id: str) -> bool:
    return load_checkpoint(shard_id) == SHARD_END


def process(data: bytes) -> None:
    """Work on a message that was not worked on before, and keep its id."""
    message_id = json.loads(data)["messageHeader"]["messageId"]
    if message_id in processed:
        return
    text = data.decode()
    start = text.index('"messageBody":') + len('"messageBody":')
    body = text[start : json.JSONDecoder().raw_decode(text, start)[1]]
    digest = hashlib.sha256(body.encode()).hexdigest()
    print(json.dumps({"processed": message_id, "sha256": digest}), flush=True)
    processed.add(message_id)
    with IDS.open("a") as file:
        file.write(f"{message_id}\n")


def open_iterator(shard_id: str) -> str:
    place = {"ShardIteratorType": "TRIM_HORIZON"}
    if after := load_checkpoint(shard_id):
        place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
    return kinesis.get_shard_iterator(StreamName=STREAM, ShardId=shard_id, **place)["ShardIterator"]


def read_shard(shard_id: str) -> None:
    """Read a shard to its end."""
    iterator = None
    while not stopping.is_set():
        try:
            iterator = iterator or open_iterator(shard_id)
            answer = kinesis.get_records(ShardIterator=iterator, Limit=50)
        except (ClientError, BotoCoreError) as error:
            print(f"{shard_id}: {error}", file=sys.stderr)
            iterator = None
            stopping.wait(PAUSE)
            continue
        for record in answer["Records"]:
            with processing:
                if stopping.is_set():
                    return
                process(record["Data"])
                save_checkpoint(shard_id, record["SequenceNumber"])
        iterator = answer.get("NextShardIterator")
        if iterator is None:
            save_checkpoint(shard_id, SHARD_END)
            return
        stopping.wait(PAUSE)


def find_ready_shards() -> list[str]:
    """The shards that have not ended and whose parents have."""
    shards = kinesis.list_shards(StreamName=STREAM)["Shards"]
    ended = {shard["ShardId"] for shard in shards if has_ended(shard["ShardId"])}
    unread = {shard["ShardId"] for shard in shards} - ended
    return [
        shard["ShardId"]
        for shard in shards
        if shard["ShardId"] in unread
        and shard.get("ParentShardId") not in unread
        and shard.get("AdjacentParentShardId") not in unread
    ]


threads: dict[str, threading.Thread] = {}
while not stopping.is_set():
    try:
        for each in find_ready_shards():
            if each not in threads:
                threads[each] = threading.Thread(target=read_shard, args=(each,))
                threads[each].start()
    except (ClientError, BotoCoreError) as error:
        print(f"cannot list the shards: {error}", file=sys.stderr)
    stopping.wait(PAUSE)
for thread in threads.values():
    thread.join()
