"""What waits for the clock, seen by a boto3 client while POST /clock lets hours pass."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from emulator.assembly.embedded import Embedded
from emulator.channels.kinesis import connect
from emulator.clock import stopwatch
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import NewFault

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

HOUR = 3600.0


@pytest.fixture
def kinesis(emulator: Embedded) -> Iterator[KinesisClient]:
    client = connect(emulator.aws)
    client.create_stream(StreamName="hours", ShardCount=1)
    yield client
    client.close()


def advance(api: Client, seconds: float) -> None:
    api.change_clock(ClockChange("advance", seconds=seconds))


def iterator(kinesis: KinesisClient) -> str:
    place = kinesis.get_shard_iterator(
        StreamName="hours", ShardId="shardId-000000000000", ShardIteratorType="TRIM_HORIZON"
    )
    return place["ShardIterator"]


def held(kinesis: KinesisClient) -> list[bytes]:
    return [record["Data"] for record in kinesis.get_records(ShardIterator=iterator(kinesis))["Records"]]


def test_a_day_of_retention_is_over_at_once(kinesis: KinesisClient, api: Client) -> None:
    """A record is there for 24 hours of the clock and then gone, and nobody waits for it."""
    began = stopwatch()
    kinesis.put_record(StreamName="hours", Data=b"first", PartitionKey="k")
    advance(api, 12 * HOUR)
    kinesis.put_record(StreamName="hours", Data=b"second", PartitionKey="k")
    advance(api, 11.9 * HOUR)
    assert held(kinesis) == [b"first", b"second"]
    advance(api, 0.2 * HOUR)
    assert held(kinesis) == [b"second"]
    advance(api, 12 * HOUR)
    assert held(kinesis) == []
    assert stopwatch() - began < 30


def test_a_longer_retention_keeps_longer(kinesis: KinesisClient, api: Client) -> None:
    """The stream's own retention counts, not a day."""
    kinesis.increase_stream_retention_period(StreamName="hours", RetentionPeriodHours=48)
    kinesis.put_record(StreamName="hours", Data=b"kept", PartitionKey="k")
    advance(api, 47 * HOUR)
    assert held(kinesis) == [b"kept"]
    advance(api, 2 * HOUR)
    assert held(kinesis) == []


def test_an_iterator_expires_after_five_minutes_of_the_clock(kinesis: KinesisClient, api: Client) -> None:
    """Four minutes later it is good; six minutes later it is refused as AWS refuses it."""
    place = iterator(kinesis)
    advance(api, 240)
    kinesis.get_records(ShardIterator=place)
    advance(api, 120)
    with pytest.raises(ClientError, match="ExpiredIteratorException"):
        kinesis.get_records(ShardIterator=place)


def test_an_hour_of_latency_is_over_at_once(emulator: Embedded, kinesis: KinesisClient, api: Client) -> None:
    """A call that a fault holds for an hour is answered when the hour was let pass, and not before."""
    api.change_clock(ClockChange("freeze"))
    api.add_fault(NewFault("latency", channel="hours", attributes={"delay": "1h", "most": "1h"}))
    call = threading.Thread(
        target=kinesis.put_record, kwargs={"StreamName": "hours", "Data": b"x", "PartitionKey": "k"}
    )
    with emulator.components.events.subscribed(struck := _Struck()):
        call.start()
        assert struck.seen.wait(60)
    assert call.is_alive()
    advance(api, 0.9 * HOUR)
    assert call.is_alive()
    while call.is_alive():
        advance(api, 0.2 * HOUR)
        call.join(0.05)
    assert held(kinesis) == [b"x"]


class _Struck:
    """Knows when a fault has struck."""

    def __init__(self) -> None:
        self.seen = threading.Event()

    def __call__(self, event: object) -> None:
        if getattr(event, "kind", "") == "fault.injected":
            self.seen.set()
