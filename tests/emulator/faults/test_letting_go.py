"""What a fault holds back is let go when it is removed, switched off, or all is reset."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config

from emulator.assembly.embedded import embedded
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault import Call
from emulator.faults.message import Message
from emulator.faults.pending import Pending
from emulator.faults.stage import Stage
from emulator.rng import Chance
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.faults import FaultChange, NewFault
from rdss_sandbox.shapes.topology import Topology

HOUR = 3600
DEADLINE = 30.0
ENDS: dict[str, Callable[[Stage, str], object]] = {
    "removed": lambda stage, name: stage.remove(name),
    "all removed": lambda stage, _: stage.clear(),
    "switched off": lambda stage, name: stage.change(name, FaultChange(enabled=False)),
}


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Its clock stands still: nothing comes because time passed."""
    clock = Clock(frozen_at=1_700_000_000.0)
    made = Stage(Chance(1), clock, Events(clock))
    yield made
    made.close()


@pytest.fixture(params=list(ENDS))
def end(request: pytest.FixtureRequest) -> Callable[[Stage, str], object]:
    return ENDS[request.param]


def met(stage: Stage, direction: str = "publishing") -> Call:
    call: Call = getattr(stage, direction)("input", "kinesis", [Message(b"{}", "k")])
    return call


async def test_a_delayed_call_goes_on(stage: Stage, end: Callable[[Stage, str], object]) -> None:
    stage.add(NewFault("latency", attributes={"delay": HOUR, "most": HOUR}))
    waiting = asyncio.ensure_future(stage.delayed(met(stage)))
    await asyncio.sleep(0)
    assert not waiting.done()
    await asyncio.to_thread(end, stage, "latency")
    await asyncio.wait_for(waiting, DEADLINE)


def test_a_delayed_call_on_a_thread_goes_on(stage: Stage, end: Callable[[Stage, str], object]) -> None:
    stage.add(NewFault("latency", attributes={"delay": HOUR, "most": HOUR}))
    thread = threading.Thread(target=stage.wait_for, args=(met(stage),), daemon=True)
    thread.start()
    end(stage, "latency")
    thread.join(DEADLINE)
    assert not thread.is_alive()


async def test_another_fault_goes_on_holding(stage: Stage) -> None:
    """The call waits for the longest of those in force, from when it came."""
    stage.add(NewFault("latency", name="long", attributes={"delay": HOUR, "most": HOUR}))
    stage.add(NewFault("latency", name="short", attributes={"delay": 10, "most": HOUR}))
    call = met(stage)
    assert call.delay == HOUR
    waiting = asyncio.ensure_future(stage.delayed(call))
    await asyncio.sleep(0)
    stage.remove("long")
    assert call.delay == 10
    stage._clock.advance(9.5)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    stage._clock.advance(0.5)
    await asyncio.wait_for(waiting, DEADLINE)


@pytest.mark.parametrize(
    ("type_", "attributes"),
    [
        ("latency", {"on": "record", "delay": HOUR, "most": HOUR}),
        ("reorder", {"distance": 5, "patience": HOUR}),
    ],
)
def test_a_delivery_that_was_held_back_is_due(
    stage: Stage, end: Callable[[Stage, str], object], type_: str, attributes: dict[str, Any]
) -> None:
    stage.add(NewFault(type_, direction="deliver", attributes=attributes))
    pending: Pending[str] = Pending()
    pending.add(zip(met(stage, "delivering").items, ["it"], strict=True))
    now = stage._clock.time()
    assert pending.take(now, 9) == []
    twin = pending.copy()
    end(stage, type_)
    assert [due.record for due in pending.take(now, 9)] == ["it"]
    assert [due.record for due in twin.take(now, 9)] == ["it"]


def test_a_process_that_stands_still_goes_on(stage: Stage, end: Callable[[Stage, str], object]) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        done: list[str] = []

        class Target:
            name = "sleeper"

            def pause(self) -> None:
                process.send_signal(signal.SIGSTOP)
                done.append("paused")

            def resume(self) -> None:
                process.send_signal(signal.SIGCONT)
                done.append("resumed")

            def kill(self) -> None:
                process.kill()

        stage.targets["sleeper"] = Target()
        stage.add(NewFault("pause", attributes={"target": "sleeper", "lasts": HOUR}))
        stage.settle()
        assert done == ["paused"]
        end(stage, "pause")
        assert done == ["paused", "resumed"]
        process.kill()


@pytest.mark.parametrize("how", ["removed", "reset"])
def test_requests_that_wait_are_answered(how: str) -> None:
    """A put over the AWS port, and one through the control API, when the fault goes."""
    topology = Topology(streams={"input": 1}, buckets=())
    settings = Settings(aws_port=0, control_port=0, data_dir=None, topology=topology)
    with embedded(settings) as emulator, httpx.Client(base_url=emulator.control, trust_env=False) as client:
        kinesis = boto3.client(
            "kinesis",
            endpoint_url=emulator.aws,
            region_name="us-east-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=Config(retries={"total_max_attempts": 1}, read_timeout=DEADLINE),
        )
        fault = {"type": "latency", "attributes": {"delay": "1h", "most": "1h"}}
        assert client.post("/faults", json=fault).is_success
        put = {"StreamName": "input", "PartitionKey": "k", "Data": b"x"}
        with ThreadPoolExecutor(2) as clients:
            waiting = clients.submit(lambda: kinesis.put_record(**put))
            while not client.get("/faults/latency").json()["injected"]:
                pass
            assert not waiting.done()
            gone = client.delete("/faults/latency") if how == "removed" else client.post("/reset")
            assert gone.is_success
            error = waiting.exception(DEADLINE)
        assert error is None or how == "reset"
        kinesis.close()
