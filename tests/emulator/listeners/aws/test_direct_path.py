"""Calls that no fault can touch take the direct path: from bytes to bytes, past the fault engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from emulator.channels.kinesis import connect
from emulator.listeners.aws.engine_backend import EngineBackend
from emulator.relay.aws.relay_backend import RelayBackend
from rdss_sandbox.shapes.faults import FaultChange
from tests.emulator.faulted_brokers import ENDPOINTS, listening

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

    from tests.emulator.faulted_brokers import Broker

HOT = {"PutRecord", "PutRecords", "GetRecords"}


@pytest.fixture
def broker(brokers: Callable[[str], Broker]) -> Broker:
    found = brokers("memory")
    found.create()
    return found


@pytest.fixture(params=ENDPOINTS)
def client(request: pytest.FixtureRequest, broker: Broker) -> Iterator[KinesisClient]:
    with listening(
        request.param, broker.engine, broker.clock, broker.events, broker.fault_engine
    ) as endpoint:
        yield connect(endpoint)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hot operations that took the full path, where requests are decoded for interceptors."""
    found: list[str] = []
    for backend in (EngineBackend, RelayBackend):
        call = backend.call

        async def watched(
            self: Any, operation: str, request: Any, scope: Any, call: Any = call
        ) -> dict[str, Any]:
            if operation in HOT:
                found.append(operation)
            answer: dict[str, Any] = await call(self, operation, request, scope)
            return answer

        monkeypatch.setattr(backend, "call", watched)
    return found


def call_all(client: KinesisClient, stream: str) -> None:
    client.put_record(StreamName=stream, Data=b"x", PartitionKey="k")
    client.put_records(StreamName=stream, Records=[{"Data": b"x", "PartitionKey": "k"}])
    place = client.get_shard_iterator(
        StreamName=stream, ShardId="shardId-000000000000", ShardIteratorType="TRIM_HORIZON"
    )
    assert client.get_records(ShardIterator=place["ShardIterator"])["Records"]


def no_fault(_bench: Broker) -> None:
    """None is in force."""


def elsewhere(broker: Broker) -> None:
    """Faults in both directions, for other channels and other kinds of channel."""
    for channel in ("elsewhere", "other*", f"{broker.name}-2", f"rabbitmq:{broker.name}"):
        broker.fault("duplicate", channel=channel)
        broker.fault("latency", channel=channel, direction="deliver")


def switched_off(broker: Broker) -> None:
    broker.fault("duplicate", enabled=False)
    broker.fault_engine.change(broker.fault("latency", direction="deliver"), FaultChange(enabled=False))


def spent(broker: Broker) -> None:
    broker.fault("duplicate", limit=0)
    broker.fault("duplicate", direction="deliver", when={"for": "1s"})
    broker.clock.advance(2)


def removed(broker: Broker) -> None:
    broker.fault_engine.remove(broker.fault("duplicate"))
    broker.fault_engine.remove(broker.fault("duplicate", direction="deliver"))


@pytest.mark.parametrize("faults", [no_fault, elsewhere, switched_off, spent, removed])
def test_a_call_that_no_fault_can_touch_is_not_decoded_for_one(
    client: KinesisClient, broker: Broker, decoded: list[str], faults: Callable[[Broker], None]
) -> None:
    """Whatever is in force for others, it costs a stream one look-up of its name."""
    faults(broker)
    call_all(client, broker.name)
    assert decoded == []


@pytest.mark.parametrize("channel", ["*", "input-*", "kinesis:input-*"])
def test_a_call_that_a_fault_may_touch_is_decoded(
    client: KinesisClient, broker: Broker, decoded: list[str], channel: str
) -> None:
    """So the check above can fail: here each takes the full path, with a fault of its own direction."""
    broker.fault("duplicate", channel=channel)
    broker.fault("duplicate", channel=channel, direction="deliver")
    call_all(client, broker.name)
    assert set(decoded) == HOT


def test_another_stream_keeps_the_direct_path_while_records_are_held(
    client: KinesisClient, broker: Broker, decoded: list[str]
) -> None:
    """A reader comes back with an iterator of the fault engine's own; it is known wherever it comes."""
    calm = f"calm-{broker.name}"
    client.create_stream(StreamName=calm, ShardCount=1)
    client.put_record(StreamName=broker.name, Data=b"x", PartitionKey="k")
    broker.fault(
        "latency", direction="deliver", channel=broker.name, attributes={"on": "record", "delay": 50}
    )
    place = client.get_shard_iterator(
        StreamName=broker.name, ShardId="shardId-000000000000", ShardIteratorType="TRIM_HORIZON"
    )
    held = client.get_records(ShardIterator=place["ShardIterator"])["NextShardIterator"]
    broker.fault_engine.clear()
    decoded.clear()
    call_all(client, calm)
    assert decoded == []
    assert client.get_records(ShardIterator=held)["Records"][0]["Data"] == b"x"
    assert decoded == ["GetRecords"]
