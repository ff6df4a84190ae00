"""Faults on topics: what strikes publishers, what strikes subscribers, what is refused as meaningless."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from emulator.clock import Clock
from emulator.faults.fault import FaultRefusedError
from emulator.faults.registry import TYPES
from extensions.topics.http.faults import TopicFaults
from rdss_sandbox.shapes.faults import NewFault
from tests.extensions.topics.http.topics_port import SECONDS, Client, Port

MEANINGLESS = {"reshard", "partial_failure", "expire_iterator", "stale_read", "mutate"} | {
    name for name, type_ in TYPES.items() if type_.kinds == ("function",)
}


async def subscribed(port: Port) -> Client:
    client = await port.connect()
    ack = await client.ask("subscribe", topic="orders", sub_id="s", ack_type="processed")
    assert ack["status"] == "success"
    return client


async def published(client: Client, key: str, **headers: Any) -> dict[str, Any]:
    return await client.ask("publish", topic="orders", data={"id": key}, ack_type="processed", **headers)


async def there(port: Port) -> list[str]:
    messages = (await port.post({"cmd": "sow", "topic": "orders"})).json()["messages"]
    return [record["data"]["id"] for each in messages if each["cmd"] == "sow" for record in each["data"]]


@pytest.mark.parametrize("name", sorted(TYPES))
def test_what_means_nothing_on_topics_is_refused(name: str) -> None:
    """The API says which kinds of channel a type is for; the others can be put in force on a topic."""
    from emulator.events import Events
    from emulator.faults.fault_engine import FaultEngine
    from emulator.rng import Chance

    clock = Clock()
    fault_engine = FaultEngine(Chance(1), clock, Events(clock))
    TopicFaults(fault_engine, clock)
    attributes = {"target": "1"} if name in {"pause", "kill", "isolate"} else {}
    wanted = NewFault(name, channel="topic:orders", attributes=attributes)
    if name in MEANINGLESS:
        with pytest.raises(FaultRefusedError, match="means nothing on 'topic:orders', which is topic"):
            fault_engine.add(wanted)
    elif not attributes:
        assert fault_engine.add(wanted).channel == "topic:orders"
    fault_engine.close()


async def test_a_refused_publish_is_acknowledged_as_failed(port: Port) -> None:
    """With the code as reason, for each acknowledgement asked for; nothing is published."""
    port.fault("error", attributes={"code": "Overloaded", "message": "not now"})
    client = await port.connect()
    ack = await published(client, "a", cmd_id="7", seq=1)
    assert (ack["status"], ack["reason"], ack["cmd_id"]) == ("failure", "Overloaded: not now", "7")
    assert await there(port) == []
    port.fault_engine.clear()
    assert (await published(client, "a", seq=1))["status"] == "success"


async def test_a_publish_that_failed_after_it_took_effect(port: Port) -> None:
    """The publisher hears of a failure and cannot know that the record is there."""
    port.fault("error", attributes={"written": True})
    assert (await published(await port.connect(), "a"))["status"] == "failure"
    assert await there(port) == ["a"]


async def test_a_duplicate_publish_comes_twice_unless_it_has_a_sequence_number(port: Port) -> None:
    """A producer's retry is told from news by its sequence number, as the product promises."""
    reader, writer = await subscribed(port), await port.connect("?client_name=w")
    port.fault("duplicate", direction="publish")
    await published(writer, "a")
    await published(writer, "b", seq=1)
    port.fault_engine.clear()
    await published(writer, "c")
    assert [(await reader.hear())["data"]["id"] for _ in range(4)] == ["a", "a", "b", "c"]


async def test_a_slow_publish_takes_its_time_on_the_clock(opened: Callable[..., Any]) -> None:
    """Latency passes on the sandbox's clock, and the acknowledgement comes after it."""
    clock = Clock(frozen_at=1e9)
    port = await opened(clock=clock)
    port.fault("latency", attributes={"delay": 60})
    client = await port.connect()
    await client.say("publish", topic="orders", data={"id": "a"}, ack_type="processed")
    waiting = asyncio.create_task(client.hear())
    assert await there(port) == []
    while not waiting.done():
        clock.advance(60)
        await asyncio.sleep(0)
    assert (await waiting)["status"] == "success"


async def test_what_a_subscriber_is_sent_twice_or_late_or_in_another_order(
    opened: Callable[..., Any],
) -> None:
    """Deliver faults strike each subscriber's messages, and leave the topic as it is."""
    clock = Clock(frozen_at=1e9)
    port = await opened(clock=clock)
    reader, writer = await subscribed(port), await port.connect()
    port.fault("duplicate", direction="deliver", limit=1)
    await published(writer, "a")
    assert [(await reader.hear())["data"]["id"] for _ in range(2)] == ["a", "a"]
    port.fault_engine.clear()
    port.fault("reorder", limit=1)
    await published(writer, "b")
    await published(writer, "c")
    assert [(await reader.hear())["data"]["id"] for _ in range(2)] == ["c", "b"]
    port.fault_engine.clear()
    port.fault("latency", direction="deliver", attributes={"on": "record", "delay": 30}, limit=1)
    await published(writer, "d")
    late = asyncio.create_task(reader.hear())
    assert await there(port) == ["a", "b", "c", "d"]
    assert not late.done()
    while not late.done():
        clock.advance(30)
        await asyncio.sleep(0)
    assert (await late)["data"]["id"] == "d"


async def test_corrupt_bytes_reach_the_subscriber(port: Port) -> None:
    """The frame's JSON is damaged where the message is; the record is not."""
    reader, writer = await subscribed(port), await port.connect()
    port.fault("corrupt", direction="deliver", attributes={"how": "truncate"})
    await published(writer, "a")
    async with asyncio.timeout(SECONDS):
        raw = str(await reader.socket.recv())
    assert '"id":"a"}' not in raw.replace(" ", "")
    assert await there(port) == ["a"]


async def test_a_corrupt_publish_is_refused_as_no_json(port: Port) -> None:
    """What a message became on the way is judged like anything else."""
    port.fault("corrupt", direction="publish", attributes={"how": "truncate"})
    assert (await published(await port.connect(), "a"))["status"] == "failure"


@pytest.mark.parametrize(("type_", "code"), [("disconnect", 1006), ("error", 1011)])
async def test_a_delivery_can_end_the_connection(port: Port, type_: str, code: int) -> None:
    """Cut without a word, or closed with the error as the reason."""
    reader, writer = await subscribed(port), await port.connect()
    port.fault(type_, direction="deliver")
    await published(writer, "a")
    with pytest.raises(ConnectionClosed):
        await reader.hear()
    assert reader.socket.close_code == code
    if code == 1011:
        assert reader.socket.close_reason == "InternalFailure: Injected by the fault engine."


async def test_a_throttled_delivery_comes_later(opened: Callable[..., Any]) -> None:
    """It is tried again after a second, and not lost."""
    clock = Clock(autojump=True)
    port = await opened(clock=clock)
    reader, writer = await subscribed(port), await port.connect()
    port.fault("throttle", direction="deliver", limit=2)
    await published(writer, "a")
    assert (await reader.hear())["data"]["id"] == "a"
    assert port.fault_engine.list()[0].injected == 2
