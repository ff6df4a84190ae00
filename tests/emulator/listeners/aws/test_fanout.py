"""Deliver faults on records that are pushed: a boto3 consumer with enhanced fan-out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import EventStreamError
from urllib3.exceptions import ProtocolError

from emulator.channels.kinesis import connect
from emulator.faults.fault_engine import FaultEngine
from emulator.listeners.aws.kinesis_faults import KinesisFaults
from emulator.rng import Chance
from rdss_sandbox.shapes.faults import NewFault
from tests.emulator.faulted_brokers import listening

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

    from tests.emulator.endpoint_fixtures import Endpoint
    from tests.emulator.faulted_brokers import Broker


@pytest.fixture
def broker(brokers: Callable[[str], Broker]) -> Broker:
    found = brokers("memory")
    found.create()
    return found


@pytest.fixture
def client(broker: Broker) -> Iterator[KinesisClient]:
    with listening("kinesis", broker.engine, broker.clock, broker.events, broker.fault_engine) as endpoint:
        yield connect(endpoint)


def subscribe(client: KinesisClient, broker: Broker) -> Iterator[dict[str, Any]]:
    """The events of a subscription from the oldest record on."""
    arn = client.describe_stream_summary(StreamName=broker.name)["StreamDescriptionSummary"]["StreamARN"]
    known = [c["ConsumerARN"] for c in client.list_stream_consumers(StreamARN=arn)["Consumers"]]
    consumer = (
        known[0]
        if known
        else client.register_stream_consumer(StreamARN=arn, ConsumerName="c")["Consumer"]["ConsumerARN"]
    )
    answer = client.subscribe_to_shard(
        ConsumerARN=consumer, ShardId="shardId-000000000000", StartingPosition={"Type": "TRIM_HORIZON"}
    )
    try:
        for event in answer["EventStream"]:
            yield dict(event["SubscribeToShardEvent"])
    finally:
        answer["EventStream"].close()


def fill_and_close(client: KinesisClient, broker: Broker, count: int) -> None:
    records: list[Any] = [{"Data": b"%d" % number, "PartitionKey": "k"} for number in range(count)]
    client.put_records(StreamName=broker.name, Records=records)
    broker.split("shardId-000000000000", 2**127)


def test_pushed_records_are_delivered_again_and_out_of_order(client: KinesisClient, broker: Broker) -> None:
    """As polled ones are: the same sequence number twice, and one record overtaken."""
    fill_and_close(client, broker, 6)
    broker.fault("duplicate", direction="deliver", attributes={"distance": 1}, limit=1)
    broker.fault("reorder", when={"after": 2, "first": 1})
    events = list(subscribe(client, broker))
    came = [record["Data"] for event in events for record in event["Records"]]
    assert came == [b"0", b"1", b"0", b"3", b"2", b"4", b"5"]
    assert [child["ShardId"] for child in events[-1]["ChildShards"]] == [
        "shardId-000000000001",
        "shardId-000000000002",
    ]


def test_what_is_held_when_a_shard_ends_comes_with_its_end(client: KinesisClient, broker: Broker) -> None:
    """Nothing is lost, however late it was to be."""
    fill_and_close(client, broker, 3)
    broker.fault("latency", direction="deliver", attributes={"on": "record", "delay": "60s"})
    came = [record["Data"] for event in subscribe(client, broker) for record in event["Records"]]
    assert came == [b"0", b"1", b"2"]


def test_a_failed_read_ends_the_subscription(client: KinesisClient, broker: Broker) -> None:
    """The connection closes; a consumer that subscribes again gets everything."""
    fill_and_close(client, broker, 3)
    broker.fault("disconnect", direction="deliver", limit=1)
    with pytest.raises(ProtocolError, match="prematurely"):
        list(subscribe(client, broker))
    broker.clock.advance(10)
    came = [record["Data"] for event in subscribe(client, broker) for record in event["Records"]]
    assert came == [b"0", b"1", b"2"]


def test_an_error_comes_inside_the_event_stream(client: KinesisClient, broker: Broker) -> None:
    """As AWS's does: an exception event, behind which the stream ends."""
    fill_and_close(client, broker, 3)
    broker.fault("error", direction="deliver", limit=1)
    with pytest.raises(EventStreamError, match="InternalFailureException"):
        list(subscribe(client, broker))
    broker.clock.advance(10)
    came = [record["Data"] for event in subscribe(client, broker) for record in event["Records"]]
    assert came == [b"0", b"1", b"2"]


def test_a_throttled_consumer_is_refused_when_it_subscribes_again(
    client: KinesisClient, broker: Broker
) -> None:
    """The subscription ends, the next call is refused with LimitExceededException, the one after passes."""
    fill_and_close(client, broker, 3)
    broker.fault("throttle", direction="deliver", limit=1)
    assert not [record for event in subscribe(client, broker) for record in event["Records"]]
    broker.clock.advance(10)
    with pytest.raises(client.exceptions.LimitExceededException):
        list(subscribe(client, broker))
    broker.clock.advance(10)
    came = [record["Data"] for event in subscribe(client, broker) for record in event["Records"]]
    assert came == [b"0", b"1", b"2"]


def test_a_subscription_has_no_iterator_that_expires(client: KinesisClient, broker: Broker) -> None:
    """It ends, as after its five minutes, and nothing is lost."""
    fill_and_close(client, broker, 3)
    broker.fault("expire_iterator", direction="deliver", limit=1)
    assert not [record for event in subscribe(client, broker) for record in event["Records"]]
    broker.clock.advance(10)
    came = [record["Data"] for event in subscribe(client, broker) for record in event["Records"]]
    assert came == [b"0", b"1", b"2"]


def test_a_fault_strikes_a_subscription_that_was_there_before_it(endpoint: Endpoint) -> None:
    """A subscription lasts for minutes; and when the fault is gone, it is as it was."""
    fault_engine = FaultEngine(Chance(7), endpoint.clock, endpoint.events)
    endpoint.interceptors[:] = [
        KinesisFaults(fault_engine, endpoint.clock, endpoint.engine.stream_of_iterator)
    ]
    client = endpoint.client("kinesis")
    client.create_stream(StreamName="a", ShardCount=1)
    arn = client.describe_stream_summary(StreamName="a")["StreamDescriptionSummary"]["StreamARN"]
    consumer = client.register_stream_consumer(StreamARN=arn, ConsumerName="c")["Consumer"]["ConsumerARN"]
    answer = client.subscribe_to_shard(
        ConsumerARN=consumer, ShardId="shardId-000000000000", StartingPosition={"Type": "TRIM_HORIZON"}
    )
    events = (event["SubscribeToShardEvent"] for event in answer["EventStream"])
    came = (record["Data"] for event in events for record in event["Records"])

    def put(data: bytes) -> None:
        client.put_record(StreamName="a", PartitionKey="k", Data=data)

    put(b"1")
    assert next(came) == b"1"
    fault_engine.add(NewFault("duplicate", direction="deliver"))
    for data in (b"2", b"3"):
        put(data)
    assert [next(came), next(came)] == [b"2", b"2"]
    assert [next(came), next(came)] == [b"3", b"3"]
    fault_engine.clear()
    for data in (b"4", b"5"):
        put(data)
    assert [next(came), next(came)] == [b"4", b"5"]
    answer["EventStream"].close()
    fault_engine.close()
