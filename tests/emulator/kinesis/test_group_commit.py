"""With ``--fsync`` the calls of a loop share their flushes, and nobody reads what no flush was for."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest

from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine, KinesisError, Scope
from emulator.listeners.aws.engine_backend import EngineBackend

HOME = Scope("000000000000", "us-east-1")
SHARD = "shardId-000000000000"


class Disk:
    """Counts flushes of data, each of which takes a second of ``stopwatch``; fails them while ``broken``.

    None ends while it is not ``ready``.
    """

    def __init__(self) -> None:
        self.flushes = 0
        self.broken = False
        self.ready = threading.Event()
        self.ready.set()

    def stopwatch(self) -> float:
        return float(self.flushes)

    def flush(self, _descriptor: int) -> None:
        self.ready.wait(20)
        self.flushes += 1
        if self.broken:
            raise OSError(5, "Input/output error")


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    with patch.object(os, "fdatasync", disk.flush):
        yield disk


@pytest.fixture
def engine(tmp_path: Path, disk: Disk) -> Iterator[Engine]:
    clock = Clock(frozen_at=1_800_000_000.0)
    with closing(Engine(tmp_path / "streams", clock, Events(clock), fsync=True)) as engine:
        engine.call("CreateStream", {"StreamName": "s", "ShardCount": 1}, HOME)
        yield engine


def put(backend: EngineBackend, data: bytes) -> asyncio.Task[object]:
    record = {"StreamName": "s", "PartitionKey": "k", "Data": data}
    return asyncio.ensure_future(backend.call("PutRecord", record, HOME))


def read(engine: Engine) -> list[bytes]:
    return [each.data for each in engine.read("s", SHARD, None, 100, HOME)]


async def test_calls_share_a_flush(engine: Engine, disk: Disk) -> None:
    """Of forty calls at once, the first has a flush, and all others share the next."""
    backend = EngineBackend(engine, Clock())
    disk.flushes = 0
    await asyncio.gather(*(put(backend, b"%d" % number) for number in range(40)))
    assert len(read(engine)) == 40
    assert 1 <= disk.flushes <= 3


async def test_callers_who_wait_for_each_answer_share_each_flush(engine: Engine, disk: Disk) -> None:
    """A flush begins when all have come again whom the last one let go, and not with the first of them."""
    backend = EngineBackend(engine, Clock())

    async def put_ten(turns: int) -> None:
        for number in range(10):
            for _ in range(turns):
                await asyncio.sleep(0)
            under_way = put(backend, b"%d" % number)
            await asyncio.sleep(0)
            begun.add(turns)
            if len(begun) == 4:
                disk.ready.set()
            await under_way

    begun: set[int] = set()
    disk.flushes = 0
    disk.ready.clear()
    with patch("emulator.machine.flush_delay.stopwatch", disk.stopwatch):
        await asyncio.gather(*map(put_ten, (1, 4, 7, 10)))
    assert len(read(engine)) == 40
    assert disk.flushes <= 12


async def test_what_is_not_on_the_disk_is_not_read(engine: Engine) -> None:
    """A reader could keep its number as a checkpoint, which after a power cut another record has."""
    assert engine.commits is not None
    with engine.commits.gathering():
        engine.call("PutRecord", {"StreamName": "s", "PartitionKey": "k", "Data": b"1"}, HOME)
    assert read(engine) == []
    await engine.commits.wait()
    assert read(engine) == [b"1"]


async def test_a_flush_that_fails_refuses_all_that_it_was_for(engine: Engine, disk: Disk) -> None:
    """What comes later is stored in another file: what of the first is on the disk, nobody knows."""
    backend = EngineBackend(engine, Clock())
    await put(backend, b"before")
    disk.broken = True
    outcomes = await asyncio.gather(put(backend, b"1"), put(backend, b"2"), return_exceptions=True)
    assert all(isinstance(each, KinesisError) for each in outcomes)
    assert "could not be made durable" in str(outcomes[0])
    disk.broken = False
    await put(backend, b"after")
    assert read(engine)[-1] == b"after"
    records = next(iter(engine._registry.records()))
    assert len(list(records.directory.glob("*.log"))) == 2
