"""A right consumer with enhanced fan-out: a thread a shard holds a subscription, a checkpoint a record."""

import hashlib
import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import boto3
from botocore.eventstream import EventStream
from botocore.exceptions import BotoCoreError, ClientError

STREAM = os.environ["SANDBOX_STREAM"]
STATE = Path(os.environ["SANDBOX_STATE_DIR"], "state.json")
kinesis = boto3.client("kinesis")
processing = threading.Lock()
stopping = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stopping.set())
state = json.loads(STATE.read_text()) if STATE.exists() else {"ids": [], "after": {}, "ended": []}


def save() -> None:
    draft = STATE.with_suffix(".draft")
    draft.write_text(json.dumps(state))
    draft.replace(STATE)


def register() -> str:
    """The ARN of our consumer, registered if it is not."""
    stream = kinesis.describe_stream_summary(StreamName=STREAM)["StreamDescriptionSummary"]["StreamARN"]
    with suppress(kinesis.exceptions.ResourceInUseException):
        kinesis.register_stream_consumer(StreamARN=stream, ConsumerName="fan-out")
    while True:
        found = kinesis.describe_stream_consumer(StreamARN=stream, ConsumerName="fan-out")
        if found["ConsumerDescription"]["ConsumerStatus"] == "ACTIVE":
            return found["ConsumerDescription"]["ConsumerARN"]
        time.sleep(0.1)


def process(data: bytes) -> None:
    message_id = json.loads(data)["messageHeader"]["messageId"]
    if message_id in state["ids"]:
        return
    text = data.decode()
    start = text.index('"messageBody":') + len('"messageBody":')
    body = text[start : json.JSONDecoder().raw_decode(text, start)[1]]
    digest = hashlib.sha256(body.encode()).hexdigest()
    print(json.dumps({"processed": message_id, "sha256": digest}), flush=True)
    state["ids"].append(message_id)


def subscribe(consumer: str, shard_id: str) -> EventStream:
    place = {"Type": "TRIM_HORIZON"}
    if after := state["after"].get(shard_id):
        place = {"Type": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
    answer = kinesis.subscribe_to_shard(ConsumerARN=consumer, ShardId=shard_id, StartingPosition=place)
    return answer["EventStream"]


def follow(consumer: str, shard_id: str) -> bool:
    """Take what one subscription brings; return whether the shard has ended."""
    for event in subscribe(consumer, shard_id):
        for record in event["SubscribeToShardEvent"]["Records"]:
            with processing:
                if stopping.is_set():
                    return False
                process(record["Data"])
                state["after"][shard_id] = record["SequenceNumber"]
                save()
        if event["SubscribeToShardEvent"].get("ChildShards"):
            return True
    return False


def read_shard(consumer: str, shard_id: str) -> None:
    while not stopping.is_set():
        try:
            if follow(consumer, shard_id):
                with processing:
                    state["ended"].append(shard_id)
                    save()
                return
        except Exception as error:  # noqa: BLE001 -- urllib3's own come through when a stream is cut
            print(f"{shard_id}: {error!r}", file=sys.stderr)
        stopping.wait(1)


def find_ready_shards() -> list[str]:
    shards = kinesis.list_shards(StreamName=STREAM)["Shards"]
    unread = {shard["ShardId"] for shard in shards} - set(state["ended"])
    return [
        shard["ShardId"]
        for shard in shards
        if shard["ShardId"] in unread
        and not {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")} & unread
    ]


arn = register()
following: set[str] = set()
while not stopping.is_set():
    try:
        for each in find_ready_shards():
            if each not in following:
                following.add(each)
                threading.Thread(target=read_shard, args=(arn, each), daemon=True).start()
    except (ClientError, BotoCoreError) as error:
        print(f"cannot list the shards: {error}", file=sys.stderr)
    stopping.wait(0.5)
with processing:
    sys.stdout.flush()
