"""A right consumer with aiobotocore as ``sandbox certify`` starts it: a task for each shard."""

import asyncio
import hashlib
import json
import os
import signal
import sys
from pathlib import Path

from aiobotocore.session import get_session
from botocore.exceptions import BotoCoreError, ClientError

STREAM = os.environ["SANDBOX_STREAM"]
STATE = Path(os.environ["SANDBOX_STATE_DIR"], "checkpoint.json")
state = json.loads(STATE.read_text()) if STATE.exists() else {"done": [], "after": {}, "ids": []}


def keep() -> None:
    """Write the checkpoint at once and whole."""
    draft = STATE.with_suffix(".draft")
    draft.write_text(json.dumps(state))
    draft.replace(STATE)


def process(data: bytes) -> None:
    message_id = json.loads(data)["messageHeader"]["messageId"]
    if message_id in state["ids"]:
        return
    text = data.decode()
    start = text.index('"messageBody":') + len('"messageBody":')
    body = text[start : json.JSONDecoder().raw_decode(text, start)[1]]
    digest = hashlib.sha256(body.encode()).hexdigest()
    sys.stdout.write(json.dumps({"processed": message_id, "sha256": digest}) + "\n")
    sys.stdout.flush()
    state["ids"].append(message_id)


async def open_iterator(kinesis, shard: str) -> str:
    after = state["after"].get(shard)
    start = {"ShardIteratorType": "TRIM_HORIZON"}
    if after:
        start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
    answer = await kinesis.get_shard_iterator(StreamName=STREAM, ShardId=shard, **start)
    return answer["ShardIterator"]


async def read(kinesis, shard: str) -> None:
    """Read a shard to its end."""
    iterator = None
    while shard not in state["done"]:
        try:
            iterator = iterator or await open_iterator(kinesis, shard)
            answer = await kinesis.get_records(ShardIterator=iterator, Limit=100)
        except (ClientError, BotoCoreError) as error:
            sys.stderr.write(f"tried again: {error}\n")
            iterator = None
            await asyncio.sleep(0.5)
            continue
        for record in answer["Records"]:
            process(record["Data"])
            state["after"][shard] = record["SequenceNumber"]
            keep()
        iterator = answer.get("NextShardIterator")
        if iterator is None:
            state["done"].append(shard)
            keep()
        await asyncio.sleep(0.25)


async def ready_shards(kinesis) -> list[str]:
    shards = (await kinesis.list_shards(StreamName=STREAM))["Shards"]
    names = {shard["ShardId"] for shard in shards}
    found = []
    for shard in shards:
        parents = {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")} & names
        if shard["ShardId"] not in state["done"] and parents <= set(state["done"]):
            found.append(shard["ShardId"])
    return found


async def main() -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    async with get_session().create_client("kinesis") as kinesis:
        reading: dict[str, asyncio.Task] = {}
        while not stopping.is_set():
            try:
                shards = await ready_shards(kinesis)
            except (ClientError, BotoCoreError) as error:
                sys.stderr.write(f"tried again: {error}\n")
                shards = []
            for shard in shards:
                if shard not in reading:
                    reading[shard] = asyncio.create_task(read(kinesis, shard))
            for task in reading.values():
                if task.done():
                    task.result()
            await asyncio.sleep(0.25)
        for task in reading.values():
            task.cancel()


asyncio.run(main())
