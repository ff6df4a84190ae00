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
from emulator.faults.delayed_deliveries import DelayedDeliveries
from emulator.faults.fault import Call
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.fault_point import FaultPoint, run_blocking
from emulator.faults.faulted_message import Message
from emulator.faults.waits import OnLoop, OnThread
from emulator.rng import Chance
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.faults import FaultChange, NewFault
from rdss_sandbox.shapes.topology import Topology

HOUR = 3600
DEADLINE = 30.0
ENDS: dict[str, Callable[[FaultEngine, str], object]] = {
    "removed": lambda fault_engine, name: fault_engine.remove(name),
    "all removed": lambda fault_engine, _: fault_engine.clear(),
    "switched off": lambda fault_engine, name: fault_engine.change(name, FaultChange(enabled=False)),
}


@pytest.fixture
def fault_engine() -> Iterator[FaultEngine]:
    """Its clock stands still: nothing comes because time passed."""
    clock = Clock(frozen_at=1_700_000_000.0)
    made = FaultEngine(Chance(1), clock, Events(clock))
    yield made
    made.close()


@pytest.fixture(params=list(ENDS))
def end(request: pytest.FixtureRequest) -> Callable[[FaultEngine, str], object]:
    return ENDS[request.param]


def met(fault_engine: FaultEngine, direction: str = "plan_publish") -> Call:
    call: Call = getattr(fault_engine, direction)("input", "kinesis", [Message(b"{}", "k")])
    return call


def point(fault_engine: FaultEngine, waits: type[OnLoop | OnThread]) -> FaultPoint:
    clock = fault_engine._clock
    return FaultPoint(fault_engine, clock, "kinesis", waits(clock))


async def test_a_delayed_call_goes_on(
    fault_engine: FaultEngine, end: Callable[[FaultEngine, str], object]
) -> None:
    fault_engine.add(NewFault("latency", attributes={"delay": HOUR, "most": HOUR}))
    waiting = asyncio.ensure_future(point(fault_engine, OnLoop).wait(met(fault_engine)))
    await asyncio.sleep(0)
    assert not waiting.done()
    await asyncio.to_thread(end, fault_engine, "latency")
    await asyncio.wait_for(waiting, DEADLINE)


def test_a_delayed_call_on_a_thread_goes_on(
    fault_engine: FaultEngine, end: Callable[[FaultEngine, str], object]
) -> None:
    fault_engine.add(NewFault("latency", attributes={"delay": HOUR, "most": HOUR}))
    waiting = point(fault_engine, OnThread).wait(met(fault_engine))
    thread = threading.Thread(target=run_blocking, args=(waiting,), daemon=True)
    thread.start()
    end(fault_engine, "latency")
    thread.join(DEADLINE)
    assert not thread.is_alive()


async def test_another_fault_goes_on_holding(fault_engine: FaultEngine) -> None:
    """The call waits for the longest of those in force, from when it came."""
    fault_engine.add(NewFault("latency", name="long", attributes={"delay": HOUR, "most": HOUR}))
    fault_engine.add(NewFault("latency", name="short", attributes={"delay": 10, "most": HOUR}))
    call = met(fault_engine)
    assert call.delay == HOUR
    waiting = asyncio.ensure_future(point(fault_engine, OnLoop).wait(call))
    await asyncio.sleep(0)
    fault_engine.remove("long")
    assert call.delay == 10
    fault_engine._clock.advance(9.5)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    fault_engine._clock.advance(0.5)
    await asyncio.wait_for(waiting, DEADLINE)


@pytest.mark.parametrize(
    ("type_", "attributes"),
    [
        ("latency", {"on": "record", "delay": HOUR, "most": HOUR}),
        ("reorder", {"distance": 5, "patience": HOUR}),
    ],
)
def test_a_delivery_that_was_held_back_is_due(
    fault_engine: FaultEngine,
    end: Callable[[FaultEngine, str], object],
    type_: str,
    attributes: dict[str, Any],
) -> None:
    fault_engine.add(NewFault(type_, direction="deliver", attributes=attributes))
    pending: DelayedDeliveries[str] = DelayedDeliveries()
    pending.add(zip(met(fault_engine, "plan_delivery").items, ["it"], strict=True))
    now = fault_engine._clock.time()
    assert pending.take(now, 9) == []
    twin = pending.copy()
    end(fault_engine, type_)
    assert [due.record for due in pending.take(now, 9)] == ["it"]
    assert [due.record for due in twin.take(now, 9)] == ["it"]


def test_a_process_that_stands_still_goes_on(
    fault_engine: FaultEngine, end: Callable[[FaultEngine, str], object]
) -> None:
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

        fault_engine.add_target("sleeper", Target())
        fault_engine.add(NewFault("pause", attributes={"target": "sleeper", "lasts": HOUR}))
        fault_engine.run_due()
        assert done == ["paused"]
        end(fault_engine, "pause")
        assert done == ["paused", "resumed"]
        process.kill()


def test_what_lasts_ends_while_a_reshard_takes_its_time() -> None:
    """An upstream that is slow to split a stream keeps no process paused, and no fault from being removed."""
    clock = Clock(frozen_at=1_700_000_000.0)
    asked, answered, resumed = threading.Event(), threading.Event(), threading.Event()

    def ask_slow_upstream(_operation: str, _request: dict[str, Any]) -> dict[str, Any]:
        asked.set()
        answered.wait(DEADLINE)
        return {"Shards": []}

    class Target:
        name = "app"
        pause = kill = staticmethod(lambda: None)
        resume = staticmethod(resumed.set)

    fault_engine = FaultEngine(Chance(1), clock, Events(clock), control=ask_slow_upstream)
    fault_engine.add_target("app", Target())
    fault_engine.add(NewFault("reshard", channel="input"))
    assert asked.wait(DEADLINE)
    fault_engine.add(NewFault("pause", attributes={"target": "app"}, when={"first": 1}))
    for act in met(fault_engine).actions:
        act()
    clock.advance(60)
    assert resumed.wait(DEADLINE)
    fault_engine.clear()
    answered.set()
    fault_engine.close()


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
