"""What a fault holds back on topics comes at once when it is removed, switched off, or all is reset."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from emulator.clock import Clock
from emulator.faults.fault_engine import FaultEngine
from rdss_sandbox.shapes.faults import FaultChange, NewFault
from tests.extensions.topics.http.topics_port import SECONDS, Client, Port

HOUR = 3600
LATE: dict[str, Any] = {"delay": HOUR, "most": HOUR}
ENDS: dict[str, Callable[[FaultEngine, str], object]] = {
    "removed": lambda fault_engine, name: fault_engine.remove(name),
    "switched off": lambda fault_engine, name: fault_engine.change(name, FaultChange(enabled=False)),
    "reset": lambda fault_engine, _: fault_engine.clear(),
}


@pytest.fixture(params=list(ENDS))
def end(request: pytest.FixtureRequest) -> Callable[[FaultEngine, str], object]:
    return ENDS[request.param]


@pytest.fixture
async def port(opened: Callable[..., Any]) -> Port:
    """Its clock stands still: nothing comes because time passed."""
    found: Port = await opened(clock=Clock(frozen_at=1e9))
    return found


async def struck(port: Port) -> None:
    """Wait until a fault has struck."""
    told = asyncio.Event()
    with port.happened.subscribed(lambda event: told.set() if event.kind == "fault.injected" else None):
        if not any(event.kind == "fault.injected" for event in port.happened.since()):
            await asyncio.wait_for(told.wait(), SECONDS)
    for _ in range(20):
        await asyncio.sleep(0)


def held(port: Port, type_: str, direction: str, attributes: dict[str, Any]) -> str:
    wanted = NewFault(type_, channel="orders", direction=direction, attributes=attributes)  # type: ignore[arg-type]
    return port.fault_engine.add(wanted).name


async def publish(client: Client, key: str) -> None:
    await client.say("publish", topic="orders", data={"id": key}, ack_type="processed")


async def test_a_publish_that_was_held_back_is_done(
    port: Port, end: Callable[[FaultEngine, str], object]
) -> None:
    """As is what its client sent behind it."""
    name = held(port, "latency", "publish", LATE)
    client = await port.connect()
    await publish(client, "a")
    await struck(port)
    waiting = asyncio.create_task(client.hear())
    messages = (await port.post({"cmd": "sow", "topic": "orders"})).json()["messages"]
    assert "sow" not in [message["cmd"] for message in messages]
    assert not waiting.done()
    end(port.fault_engine, name)
    assert (await waiting)["status"] == "success"
    await publish(client, "b")
    assert (await client.hear())["status"] == "success"


@pytest.mark.parametrize(
    ("type_", "attributes"),
    [
        ("latency", LATE),
        ("latency", {"on": "record", **LATE}),
        ("reorder", {"distance": 5, "patience": HOUR}),
        ("throttle", {}),
    ],
)
async def test_a_message_that_was_held_back_is_sent(
    port: Port, end: Callable[[FaultEngine, str], object], type_: str, attributes: dict[str, Any]
) -> None:
    """As are those that came meanwhile, in their order."""
    reader, writer = await port.connect(), await port.connect()
    await reader.ask("subscribe", topic="orders", sub_id="s", ack_type="processed")
    name = held(port, type_, "deliver", attributes)
    for key in ("a", "b"):
        await publish(writer, key)
        await writer.hear()
    await struck(port)
    waiting = asyncio.create_task(reader.hear())
    await asyncio.sleep(0)
    assert not waiting.done()
    end(port.fault_engine, name)
    came = [(await each)["data"]["id"] for each in (waiting, reader.hear())]
    assert sorted(came) == ["a", "b"]
    if type_ != "reorder":
        assert came == ["a", "b"]


async def test_a_reset_of_the_topics_ends_who_waits(port: Port) -> None:
    """A subscriber that a fault held is told of the reset at once, as any other."""
    reader, writer = await port.connect(), await port.connect()
    await reader.ask("subscribe", topic="orders", sub_id="s", ack_type="processed")
    held(port, "latency", "deliver", LATE)
    await publish(writer, "a")
    await writer.hear()
    await struck(port)
    port.fault_engine.clear()
    await asyncio.to_thread(port.service.reset)
    async with asyncio.timeout(SECONDS):
        await reader.socket.wait_closed()
