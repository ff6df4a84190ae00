"""What was acknowledged survives kill -9 at any moment."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from emulator.clock import Clock
from emulator.events import Events
from emulator.journal import Payloads
from emulator.kinesis import Engine
from emulator.rng import Chance
from tests.emulator.kinesis.engine_calls import SCOPE

KILLS = 15
SEED = 20_261_121
WRITER = Path(__file__).with_name("writing_process.py")
ROOT = Path(__file__).parents[3]


@dataclass
class Acknowledged:
    """What the killed processes had been told was done."""

    numbers: set[int] = field(default_factory=set)
    shards: int = 0
    consumers: set[str] = field(default_factory=set)

    def take(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "shards":
            self.shards = int(rest)
        elif word == "consumer":
            self.consumers.add(rest)
        else:
            self.numbers.update(range(int(word), int(rest) + 1))


def write_until_killed(directory: Path, start: int, lines: int, acknowledged: Acknowledged) -> None:
    """Run a writer and kill it when it has said ``lines`` things; the pipe holds what it said after that."""
    command = [sys.executable, str(WRITER), str(directory), str(start), str(SEED)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for _ in range(lines):
            acknowledged.take(process.stdout.readline().rstrip("\n"))
        process.send_signal(signal.SIGKILL)
        for line in process.stdout.read().splitlines(keepends=True):
            if line.endswith("\n"):
                acknowledged.take(line.rstrip("\n"))


def read_everything(directory: Path) -> tuple[list[list[int]], int, set[str]]:
    """The numbers in each shard in order, how many shards there are, the consumers; each record is whole.

    The last numbers are those of the stream that has a copy of everything.
    """
    clock = Clock()
    payloads = Payloads(directory)
    payloads.recover(careful=False)
    assert payloads.missing == ()
    engine = Engine(directory, clock, Events(clock), segment_bytes=1 << 17)
    shards = engine.call("ListShards", {"StreamName": "s"}, SCOPE)["Shards"]
    found = []
    for stream, shard_id in [
        *(("s", shard["ShardId"]) for shard in shards),
        ("copy", "shardId-000000000000"),
    ]:
        numbers: list[int] = []
        after, last = None, ""
        while records := engine.read(stream, shard_id, after, 10_000, SCOPE):
            for record in records:
                assert record.sequence_number > last
                last = record.sequence_number
                assert re.fullmatch(rb"(\d+\|)\1*", record.data), "a torn record"
                numbers.append(int(record.data.split(b"|")[0]))
                assert record.partition_key == str(numbers[-1] % 7)
            after = last
        found.append(numbers)
    arn = engine.call("DescribeStream", {"StreamName": "s"}, SCOPE)["StreamDescription"]["StreamARN"]
    consumers = engine.call("ListStreamConsumers", {"StreamARN": arn}, SCOPE)["Consumers"]
    engine.close()
    payloads.close()
    return found, len(shards), {consumer["ConsumerName"] for consumer in consumers}


def test_what_was_acknowledged_survives_being_killed_at_any_moment(tmp_path: Path) -> None:
    """Fifteen times over: nothing acknowledged is missing, nothing is there twice or torn, order is kept."""
    acknowledged = Acknowledged()
    draws = Chance(SEED).draws("killer")
    start = 0
    for _ in range(KILLS):
        write_until_killed(tmp_path, start, draws.randint(2, 40), acknowledged)

        found, shards, consumers = read_everything(tmp_path)

        copied = found.pop()
        together = [number for numbers in found for number in numbers]
        assert acknowledged.numbers <= set(copied) <= set(together)
        assert copied == sorted(set(copied))
        assert acknowledged.numbers <= set(together)
        assert len(together) == len(set(together))
        assert all(numbers == sorted(numbers) for numbers in found)
        assert shards >= acknowledged.shards
        assert acknowledged.consumers <= consumers
        start = max([*together, start]) + 1
    assert len(acknowledged.numbers) > 1000
    assert list((tmp_path / "payloads").glob("*.payloads")), "nothing was packed, or it was not shared"
