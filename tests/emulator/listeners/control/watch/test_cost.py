"""What the watch page costs the sandbox at 2,000 messages a second."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from emulator.listeners.control.live_answers import LiveAnswers
from emulator.listeners.control.watch.resources import PAUSE_SECONDS, PictureResources
from emulator.listeners.control.watch.resources import SHARE as SHARE_OF_PICTURES
from rdss_sandbox.client import Client
from rdss_sandbox.installed_extensions import list_ports
from rdss_sandbox.shapes.clock import ClockReading
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.picture import Picture

ROUNDS = 40
SHARE = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A sandbox of its own process, with what a class has: a fault in force."""
    ports = [f"--{name}-port=0" for name in ("aws", "control", *dict(list_ports()))]
    command = [sys.executable, "-m", "sandbox", "up", "--json", "--amqp", "none", *ports]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        with Client(told["control"]) as client:
            client.add_fault(NewFault("duplicate", toxicity=0.02))
        yield told | {"pid": process.pid}
        process.terminate()


def used(pid: int) -> float:
    """The processor time in seconds that a process has used, with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="NO /proc: processor time is not to be had")
def test_watching_takes_less_than_a_twentieth_of_a_core(sandbox: dict[str, Any]) -> None:
    """The processor time of a second: two pictures, and 1,000 messages put and read before each.

    Rounds with a picture and without take turns. They count messages and not seconds, so that a busy machine
    measures the same. A picture that is asked for costs more than one that is told to who watches.
    """
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    kinesis = boto3.client("kinesis", endpoint_url=sandbox["aws"], **keys)
    entries = [{"Data": b"x" * 300, "PartitionKey": str(number)} for number in range(500)]
    reading = [
        kinesis.get_shard_iterator(
            StreamName="input", ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        for shard in kinesis.list_shards(StreamName="input")["Shards"]
    ]
    spent = {True: 0.0, False: 0.0}
    with httpx.Client(base_url=sandbox["control"], trust_env=False, timeout=60) as asking:
        for round_ in range(2 * ROUNDS + 2):
            watched, before = bool(round_ % 2), used(sandbox["pid"])
            for _ in range(2):
                kinesis.put_records(StreamName="input", Records=entries)
            reading = [kinesis.get_records(ShardIterator=each)["NextShardIterator"] for each in reading]
            if watched:
                asking.get("/picture").raise_for_status()
            if round_ >= 2:  # the first two warm up
                spent[watched] += used(sandbox["pid"]) - before
    share = (spent[True] - spent[False]) / ROUNDS / PAUSE_SECONDS
    measured = f"{share:.2%} of a core for pictures, {spent[False] / ROUNDS / PAUSE_SECONDS:.0%} for messages"
    logging.getLogger(__name__).info(measured)  # pytest --log-cli-level=INFO shows it
    assert share < SHARE, measured


class SlowMaker:
    """Makes pictures of a sandbox so full that one takes a tenth of a second of processor time."""

    def make(self) -> Picture:
        began = time.thread_time()
        while time.thread_time() - began < 0.1:
            pass
        clock = ClockReading(0.0, 1.0, real=True, elapsed=0.0)
        return Picture(
            contract="rdss 4.0.0", clock=clock, streams=(), left_out_streams=0, faults=(), strikes=(),
            findings=(), error=None, news=(), run=None,
        )  # fmt: skip


def test_the_longer_a_picture_takes_the_longer_is_the_pause_after_it() -> None:
    """So the share of a core has a bound whatever the sandbox holds."""
    maker: Any = SlowMaker()
    taken = PictureResources(maker, LiveAnswers())._take()
    assert taken.pause >= 0.1 / SHARE_OF_PICTURES
    assert SHARE_OF_PICTURES < SHARE
