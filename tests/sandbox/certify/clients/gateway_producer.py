"""A producer on the sandbox's own gateway: it splits large messages, and backs off as specified."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import boto3
from botocore.config import Config

from emulator.channels.kinesis import KinesisChannel
from emulator.clock import Clock
from emulator.rng import new_uuid
from sandbox.gateway import Gateway
from sandbox.repository import Repository
from schemas.rdss.sequence import split_raw

STATE = Path(os.environ["SANDBOX_STATE_DIR"])
DONE = STATE / "done.txt"
clock = Clock()
kinesis = boto3.client("kinesis", config=Config(retries={"total_max_attempts": 1}))
repository = Repository(STATE / "repository.sqlite3", clock)
gateway = Gateway(KinesisChannel(kinesis, os.environ["SANDBOX_STREAM"], clock=clock), repository, clock)
done = set(DONE.read_text().split()) if DONE.exists() else set()


def expired(message: bytes) -> bool:
    ends = json.loads(message)["messageHeader"]["messageTimings"].get("expirationTimestamp")
    return ends is not None and datetime.fromisoformat(ends) <= datetime.now(UTC)


gateway.flush()
with DONE.open("a") as kept:
    for line in Path(os.environ["SANDBOX_MESSAGES"]).read_bytes().splitlines():
        name = json.loads(line)["messageHeader"]["messageId"]
        if name not in done and not expired(line):
            gateway.send_serialised(*split_raw(line, new_id=new_uuid))
            kept.write(f"{name}\n")
            kept.flush()
            print(json.dumps({"sent": name}), flush=True)
