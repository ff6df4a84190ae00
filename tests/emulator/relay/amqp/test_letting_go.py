"""What a fault holds back of RabbitMQ's messages comes when it is removed, switched off, or all is reset."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pika.adapters.blocking_connection import BlockingChannel

from emulator.faults.fault_engine import FaultEngine
from rdss_sandbox.shapes.faults import FaultChange
from tests.emulator.relay.amqp.relay_under_test import Relay, heard

pytestmark = pytest.mark.rabbitmq
HOUR = 3600
DEADLINE = 30.0
LATE: dict[str, Any] = {"delay": HOUR, "most": HOUR}
DELIVERIES: list[tuple[str, dict[str, Any]]] = [
    ("latency", LATE),
    ("latency", {"on": "record", **LATE}),
    ("reorder", {"distance": 5, "patience": HOUR}),
    ("throttle", {}),
]
PUBLISHES: list[tuple[str, dict[str, Any]]] = [("latency", LATE), ("throttle", {})]
ENDS: dict[str, Callable[[FaultEngine, str], object]] = {
    "removed": lambda fault_engine, name: fault_engine.remove(name),
    "switched off": lambda fault_engine, name: fault_engine.change(name, FaultChange(enabled=False)),
    "reset": lambda fault_engine, _: fault_engine.clear(),
}


@pytest.fixture(params=list(ENDS))
def end(request: pytest.FixtureRequest) -> Callable[[FaultEngine, str], object]:
    return ENDS[request.param]


@pytest.fixture
def relay(relay: Relay) -> Relay:
    """Its clock stands still: nothing comes because time passed."""
    relay.fault_engine._clock.freeze()
    return relay


@pytest.mark.parametrize(("type_", "attributes"), DELIVERIES)
def test_a_delivery_that_was_held_back_comes(
    relay: Relay, end: Callable[[FaultEngine, str], object], type_: str, attributes: dict[str, Any]
) -> None:
    channel = relay.channel()
    channel.basic_publish("", relay.queue, b"1")
    name = relay.fault(type_, direction="deliver", attributes=attributes)
    came: list[bytes] = []
    channel.basic_consume(relay.queue, lambda _channel, _method, _properties, body: came.append(body))
    heard(channel.connection, relay.injections)
    channel.connection.process_data_events(0.1)
    assert came == []
    end(relay.fault_engine, name)
    heard(channel.connection, lambda: came)
    assert came == [b"1"]


@pytest.mark.parametrize(("type_", "attributes"), PUBLISHES)
def test_a_publish_that_was_held_back_is_confirmed(
    relay: Relay, end: Callable[[FaultEngine, str], object], type_: str, attributes: dict[str, Any]
) -> None:
    """As is what its client published behind it."""
    channel, came = relay.channel(), relay.channel()
    name = relay.fault(type_, direction="publish", attributes=attributes)
    with ThreadPoolExecutor(1) as thread:
        confirmed = thread.submit(_publish, channel, relay.queue)
        heard(came.connection, relay.injections)
        assert came.basic_get(relay.queue)[0] is None
        assert not confirmed.done()
        end(relay.fault_engine, name)
        confirmed.result(DEADLINE)
    assert relay.at_broker() == [b"1", b"2"]


def test_a_get_that_was_held_back_is_answered(
    relay: Relay, end: Callable[[FaultEngine, str], object]
) -> None:
    channel, other = relay.channel(), relay.channel()
    channel.basic_publish("", relay.queue, b"1")
    name = relay.fault("latency", direction="deliver", attributes=LATE)
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(channel.basic_get, relay.queue, auto_ack=True)
        heard(other.connection, relay.injections)
        assert not found.done()
        end(relay.fault_engine, name)
        assert found.result(DEADLINE)[2] == b"1"


def _publish(channel: BlockingChannel, queue: str) -> None:
    for body in (b"1", b"2"):
        channel.basic_publish("", queue, body)
    # Only when all before it is done is this answered.
    channel.queue_declare(queue, passive=True)
