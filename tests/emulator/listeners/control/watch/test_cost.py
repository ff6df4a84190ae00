"""What the watch page costs the sandbox at 2,000 messages a second."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import boto3
import httpx
import pytest

from emulator.clock import Clock, stopwatch
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault

BATCH = 100
BATCHES_A_SECOND = 20
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
        while not self._ended.is_set():
            entries = [{"Data": b"x" * 300, "PartitionKey": f"{self.put + at}"} for at in range(BATCH)]
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


def measure(pid: int) -> float:
    """The share of a core that the process uses in a window."""
    began, before = stopwatch(), used(pid)
    Clock().wait(WINDOW_SECONDS)
    return (used(pid) - before) / (stopwatch() - began)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="NO /proc: processor time is not to be had")
def test_watching_takes_less_than_a_twentieth_of_a_core(
    sandbox: dict[str, Any], record_property: Callable[[str, object], None]
) -> None:
    """Paired windows, with a watcher and without: the median of their differences."""
    load, pictures, differences = Load(sandbox["aws"]), [], []
    try:
        began = stopwatch()
        measure(sandbox["pid"])
        for _ in range(PAIRS):
            alone = measure(sandbox["pid"])
            with watched(sandbox["control"], pictures):
                differences.append(measure(sandbox["pid"]) - alone)
        rate = load.put / (stopwatch() - began)
    finally:
        load.close()
    measured = f"{rate:.0f} messages a second, {len(pictures)} pictures, shares of a core: {differences}"
    record_property("measured", measured)
    assert rate > 0.6 * BATCH * BATCHES_A_SECOND, "the load was not put"
    assert len(pictures) >= PAIRS * 3, "nobody watched"
    assert median(differences) < SHARE, measured
