"""A process that writes to an engine as fast as it can, and says what was acknowledged, until it is killed.

Started by ``test_being_killed`` with a directory, a round and a seed.
Each line on standard output is what has been acknowledged by then: ``first last`` numbers of a batch,
``shards n`` after a resharding, ``iterator token``, ``consumer name``.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path

from emulator.clock import Clock
from emulator.events import Events
from emulator.journal import Payloads
from emulator.kinesis import Engine, Scope
from emulator.rng import Chance

SCOPE = Scope("000000000000", "eu-west-2")
ARN = "arn:aws:kinesis:eu-west-2:000000000000:stream/s"


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def main(directory: str, start: int, seed: int) -> None:
    """Write batches that begin with number ``start`` for ever."""
    clock = Clock()
    Payloads(Path(directory)).recover(careful=False)
    engine = Engine(Path(directory), clock, Events(clock), segment_bytes=1 << 17)
    if not engine.streams(SCOPE):
        engine.call("CreateStream", {"StreamName": "s", "ShardCount": 2}, SCOPE)
        engine.call("CreateStream", {"StreamName": "copy", "ShardCount": 1}, SCOPE)
    draws = Chance(seed).draws("writer", str(start))
    step = 0
    while True:
        count = draws.randint(1, 300)
        records = [
            {"Data": payload(start + i, draws.randint(0, 40)), "PartitionKey": str((start + i) % 7)}
            for i in range(count)
        ]
        for stream in ("s", "copy"):
            engine.put_records_json(json.dumps({"StreamName": stream, "Records": records}).encode(), SCOPE)
        say(start, start + count - 1)
        start += count
        step += 1
        if step % 3 == 0:
            engine.pack()
        if step % 7 == 0:
            target = 1 + step // 7 % 3
            request = {"StreamName": "s", "TargetShardCount": target, "ScalingType": "UNIFORM_SCALING"}
            engine.call("UpdateShardCount", request, SCOPE)
            say("shards", len(engine.call("ListShards", {"StreamName": "s"}, SCOPE)["Shards"]))
        if step % 5 == 0:
            name = f"c{start}"
            engine.call("RegisterStreamConsumer", {"StreamARN": ARN, "ConsumerName": name}, SCOPE)
            say("consumer", name)


def payload(number: int, length: int) -> str:
    """The data of record ``number``: it can be told from any other, and whether it is whole."""
    return base64.b64encode(b"%d|" % number * (length + 1)).decode()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
