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

    from tests.emulator.faulted_brokers import Bench

HOT = {"PutRecord", "PutRecords", "GetRecords"}


@pytest.fixture
def bench(benches: Callable[[str], Bench]) -> Bench:
    found = benches("memory")
    found.create()
    return found


@pytest.fixture(params=ENDPOINTS)
def client(request: pytest.FixtureRequest, bench: Bench) -> Iterator[KinesisClient]:
    with listening(request.param, bench.engine, bench.clock, bench.events, bench.fault_engine) as endpoint:
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


def no_fault(_bench: Bench) -> None:
    """None is in force."""


def elsewhere(bench: Bench) -> None:
    """Faults in both directions, for other channels and other kinds of channel."""
    for channel in ("elsewhere", "other*", f"{bench.name}-2", f"rabbitmq:{bench.name}"):
        bench.fault("duplicate", channel=channel)
        bench.fault("latency", channel=channel, direction="deliver")


def switched_off(bench: Bench) -> None:
    bench.fault("duplicate", enabled=False)
    bench.fault_engine.change(bench.fault("latency", direction="deliver"), FaultChange(enabled=False))


def spent(bench: Bench) -> None:
    bench.fault("duplicate", limit=0)
    bench.fault("duplicate", direction="deliver", when={"for": "1s"})
    bench.clock.advance(2)


def removed(bench: Bench) -> None:
    bench.fault_engine.remove(bench.fault("duplicate"))
    bench.fault_engine.remove(bench.fault("duplicate", direction="deliver"))


@pytest.mark.parametrize("faults", [no_fault, elsewhere, switched_off, spent, removed])
def test_a_call_that_no_fault_can_touch_is_not_decoded_for_one(
    client: KinesisClient, bench: Bench, decoded: list[str], faults: Callable[[Bench], None]
) -> None:
    """Whatever is in force for others, it costs a stream one look-up of its name."""
    faults(bench)
    call_all(client, bench.name)
    assert decoded == []


@pytest.mark.parametrize("channel", ["*", "input-*", "kinesis:input-*"])
def test_a_call_that_a_fault_may_touch_is_decoded(
    client: KinesisClient, bench: Bench, decoded: list[str], channel: str
) -> None:
    """So the check above can fail: here each takes the full path, with a fault of its own direction."""
    bench.fault("duplicate", channel=channel)
    bench.fault("duplicate", channel=channel, direction="deliver")
    call_all(client, bench.name)
    assert set(decoded) == HOT


def test_another_stream_keeps_the_direct_path_while_records_are_held(
    client: KinesisClient, bench: Bench, decoded: list[str]
) -> None:
    """A reader comes back with an iterator of the fault engine's own; it is known wherever it comes."""
    calm = f"calm-{bench.name}"
    client.create_stream(StreamName=calm, ShardCount=1)
    client.put_record(StreamName=bench.name, Data=b"x", PartitionKey="k")
    bench.fault("latency", direction="deliver", channel=bench.name, attributes={"on": "record", "delay": 50})
    place = client.get_shard_iterator(
        StreamName=bench.name, ShardId="shardId-000000000000", ShardIteratorType="TRIM_HORIZON"
    )
    held = client.get_records(ShardIterator=place["ShardIterator"])["NextShardIterator"]
    bench.fault_engine.clear()
    decoded.clear()
    call_all(client, calm)
    assert decoded == []
    assert client.get_records(ShardIterator=held)["Records"][0]["Data"] == b"x"
    assert decoded == ["GetRecords"]
