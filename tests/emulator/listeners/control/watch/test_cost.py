"""What the watch page costs the sandbox at 2,000 messages a second."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import httpx
import pytest

from emulator.clock import Clock, stopwatch
from emulator.listeners.control.live_answers import LiveAnswers
from emulator.listeners.control.watch.resources import SHARE as SHARE_OF_PICTURES
from emulator.listeners.control.watch.resources import PictureResources
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockReading
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.picture import Picture

BATCH = 500
BATCHES_A_SECOND = 4
WINDOW_SECONDS = 2.5
PAIRS = 5
SHARE = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A sandbox of its own process, with what a class has: a fault in force."""
    ports = [f"--{name}-port=0" for name in ("aws", "control", "queues", "topics")]
    command = [sys.executable, "-m", "sandbox", "up", "--json", "--amqp", "off", *ports]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        with Client(told["control"]) as client:
            client.add_fault(NewFault("duplicate", toxicity=0.02))
        yield told | {"pid": process.pid}
        process.terminate()


class Load:
    """Puts 2,000 messages a second into the stream ``input``, and reads them, until it is closed."""

    def __init__(self, aws: str) -> None:
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
        self._kinesis = boto3.client("kinesis", endpoint_url=aws, **keys)
        self._ended = threading.Event()
        self.put = 0
        self._threads = [threading.Thread(target=work) for work in (self._produce, self._consume)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _produce(self) -> None:
        began, clock = stopwatch(), Clock()
        entries = [{"Data": b"x" * 300, "PartitionKey": str(number)} for number in range(BATCH)]
        while not self._ended.is_set():
            self._kinesis.put_records(StreamName="input", Records=entries)
            self.put += BATCH
            clock.wait(max(0.0, began + self.put / BATCH / BATCHES_A_SECOND - stopwatch()))

    def _consume(self) -> None:
        clock, shards = Clock(), self._kinesis.list_shards(StreamName="input")["Shards"]
        iterators = [
            self._kinesis.get_shard_iterator(
                StreamName="input", ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            for shard in shards
        ]
        while not self._ended.is_set():
            iterators = [
                self._kinesis.get_records(ShardIterator=each)["NextShardIterator"] for each in iterators
            ]
            clock.wait(0.5)


@contextmanager
def watched(control: str, pictures: list[int]) -> Iterator[None]:
    """Somebody watches: the pictures are read as a browser reads them, and their sizes noted."""
    ended = threading.Event()

    def read() -> None:
        with httpx.stream(
            "GET", f"{control}/picture", headers={"accept": "text/event-stream"}, trust_env=False, timeout=60
        ) as answer:
            for line in answer.iter_lines():
                if line.startswith("data:"):
                    pictures.append(len(line))
                if ended.is_set():
                    return

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def used(pid: int) -> float:
    """The processor time in seconds that a process has used, with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


class Window(NamedTuple):
    """What happened in a while: seconds that went by, processor time of the sandbox, messages put."""

    seconds: float
    used: float
    put: int

    def __add__(self, other: object) -> Window:
        assert isinstance(other, Window)
        return Window(*map(sum, zip(self, other, strict=True)))


def measure(pid: int, load: Load) -> Window:
    began, before, put = stopwatch(), used(pid), load.put
    Clock().wait(WINDOW_SECONDS)
    return Window(stopwatch() - began, used(pid) - before, load.put - put)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="NO /proc: processor time is not to be had")
def test_watching_takes_less_than_a_twentieth_of_a_core(sandbox: dict[str, Any]) -> None:
    """Windows in turns, without a watcher and with one.

    What a message costs without one is taken off for each message, since a busy machine puts fewer.
    """
    load, pictures = Load(sandbox["aws"]), []
    alone = seen = Window(0.0, 0.0, 0)
    try:
        measure(sandbox["pid"], load)  # warm up
        for _ in range(PAIRS):
            alone += measure(sandbox["pid"], load)
            with watched(sandbox["control"], pictures):
                seen += measure(sandbox["pid"], load)
    finally:
        load.close()
    rate = (alone.put + seen.put) / (alone.seconds + seen.seconds)
    share = (seen.used - seen.put * alone.used / alone.put) / seen.seconds
    measured = f"{rate:.0f} messages a second, {len(pictures)} pictures, {share:.2%} of a core"
    logging.getLogger(__name__).info(measured)  # pytest --log-cli-level=INFO shows it
    assert rate > 0.6 * BATCH * BATCHES_A_SECOND, f"the load was not put: {measured}"
    assert len(pictures) >= PAIRS * 3, "nobody watched"
    assert share < SHARE, measured


class SlowMaker:
    """Makes pictures of a sandbox so full that one takes a tenth of a second of processor time."""

    def make(self) -> Picture:
        began = time.thread_time()
        while time.thread_time() - began < 0.1:
            pass
        clock = ClockReading(0.0, 1.0, real=True, elapsed=0.0)
        return Picture(
            clock=clock, streams=(), left_out_streams=0, faults=(), strikes=(), findings=(), error=None,
            news=(), run=None,
        )  # fmt: skip


def test_the_longer_a_picture_takes_the_longer_is_the_pause_after_it() -> None:
    """So the share of a core has a bound whatever the sandbox holds."""
    maker: Any = SlowMaker()
    taken = PictureResources(maker, LiveAnswers())._take()
    assert taken.pause >= 0.1 / SHARE_OF_PICTURES
    assert SHARE_OF_PICTURES < SHARE
