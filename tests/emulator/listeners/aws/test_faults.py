"""The stage in front of Kinesis, seen by a program that speaks to it with boto3 itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from emulator.channels.kinesis import connect
from emulator.faults.fault import Direction, Done, FaultType, Hit, Phase
from emulator.listeners.aws.held_reads import LIFETIME
from tests.emulator.faulted_brokers import ENDPOINTS, listening

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

    from tests.emulator.faulted_brokers import Broker


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


def iterator(client: KinesisClient, broker: Broker) -> str:
    return client.get_shard_iterator(
        StreamName=broker.name, ShardId="shardId-000000000000", ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]


def put(client: KinesisClient, broker: Broker, *payloads: bytes) -> Any:
    records: list[Any] = [{"Data": payload, "PartitionKey": "k"} for payload in payloads]
    return client.put_records(StreamName=broker.name, Records=records)


def read_on(client: KinesisClient, place: str, reads: int = 20) -> tuple[list[bytes], Any]:
    """Payloads up to the end of a closed shard, and the last answer."""
    found: list[bytes] = []
    for _ in range(reads):
        answer = client.get_records(ShardIterator=place, Limit=3)
        found += [record["Data"] for record in answer["Records"]]
        if "NextShardIterator" not in answer:
            return found, answer
        place = answer["NextShardIterator"]
    return found, answer


def test_partial_failure_has_the_shape_of_aws(client: KinesisClient, broker: Broker) -> None:
    """FailedRecordCount counts; a failed entry has an error and no sequence number."""
    broker.fault("partial_failure", when={"every": 2})
    answer = put(client, broker, b"0", b"1", b"2", b"3", b"4")
    assert answer["FailedRecordCount"] == 2
    assert [sorted(entry) for entry in answer["Records"]] == [
        ["SequenceNumber", "ShardId"],
        ["ErrorCode", "ErrorMessage"],
        ["SequenceNumber", "ShardId"],
        ["ErrorCode", "ErrorMessage"],
        ["SequenceNumber", "ShardId"],
    ]
    assert answer["Records"][1]["ErrorCode"] == "InternalFailure"


def test_duplicates_in_a_batch_are_put_behind_it(client: KinesisClient, broker: Broker) -> None:
    """The batch keeps its order, and each entry's answer is that of its last put."""
    broker.fault("duplicate", when={"every": 2})
    answer = put(client, broker, b"0", b"1", b"2", b"3")
    found = client.get_records(ShardIterator=iterator(client, broker))["Records"]
    assert [record["Data"] for record in found] == [b"0", b"1", b"2", b"3", b"1", b"3"]
    assert answer["FailedRecordCount"] == 0
    numbers = [record["SequenceNumber"] for record in found]
    assert [e["SequenceNumber"] for e in answer["Records"]] == [numbers[i] for i in (0, 4, 2, 5)]


def test_an_error_has_the_code_and_status_wanted(client: KinesisClient, broker: Broker) -> None:
    """As AWS would send it."""
    broker.fault("error", attributes={"code": "KMSDisabledException", "status": 400, "message": "no key"})
    with pytest.raises(ClientError) as failed:
        put(client, broker, b"x")
    assert failed.value.response["Error"] == {"Code": "KMSDisabledException", "Message": "no key"}
    assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_a_disconnect_is_no_answer(client: KinesisClient, broker: Broker) -> None:
    """The connection closes, and the next call goes through on a new one."""
    broker.fault("disconnect", limit=1)
    with pytest.raises(ConnectionClosedError):
        put(client, broker, b"x")
    assert put(client, broker, b"x")["FailedRecordCount"] == 0


def test_an_expired_iterator_is_refused_once(client: KinesisClient, broker: Broker) -> None:
    """With AWS's exception; a client that takes a new one goes on."""
    put(client, broker, b"x")
    broker.fault("expire_iterator", limit=1)
    with pytest.raises(client.exceptions.ExpiredIteratorException, match="tolerated delay"):
        client.get_records(ShardIterator=iterator(client, broker))
    assert client.get_records(ShardIterator=iterator(client, broker))["Records"]


def test_a_stale_read_gives_the_iterator_back(client: KinesisClient, broker: Broker) -> None:
    """Nothing is found, MillisBehindLatest says that there is more, and reading goes on at the same place."""
    put(client, broker, b"x")
    broker.fault("stale_read", limit=1)
    place = iterator(client, broker)
    answer = client.get_records(ShardIterator=place)
    assert (answer["Records"], answer["NextShardIterator"]) == ([], place)
    assert answer["MillisBehindLatest"] > 0
    assert [r["Data"] for r in client.get_records(ShardIterator=place)["Records"]] == [b"x"]


def test_redeliveries_reach_over_reads_to_the_end_of_a_closed_shard(
    client: KinesisClient, broker: Broker
) -> None:
    """Three records at a time, each again four later: all come, and only then the children are named."""
    put(client, broker, *[b"%d" % number for number in range(8)])
    broker.split("shardId-000000000000", 2**127)
    broker.fault("duplicate", direction="deliver", attributes={"distance": 4})
    found, answer = read_on(client, iterator(client, broker))
    assert sorted(found) == sorted([b"%d" % number for number in range(8)] * 2)
    assert found.index(b"4") < len(found) - 1 - found[::-1].index(b"0")
    assert [child["ShardId"] for child in answer["ChildShards"]] == [
        "shardId-000000000001",
        "shardId-000000000002",
    ]


def test_a_read_can_be_repeated_while_records_are_held(client: KinesisClient, broker: Broker) -> None:
    """As after a time-out: the same iterator gives the same records again."""
    put(client, broker, *[b"%d" % number for number in range(5)])
    broker.fault("duplicate", direction="deliver")
    first = client.get_records(ShardIterator=iterator(client, broker), Limit=3)
    held = first["NextShardIterator"]
    reads = [client.get_records(ShardIterator=held, Limit=4)["Records"] for _ in range(2)]
    assert [r["Data"] for r in reads[0]] == [r["Data"] for r in reads[1]]
    assert reads[0]


def test_held_records_come_also_when_the_fault_is_gone(client: KinesisClient, broker: Broker) -> None:
    """Removing a fault loses nothing."""
    put(client, broker, b"0", b"1", b"2")
    name = broker.fault("latency", direction="deliver", attributes={"on": "record", "delay": "50s"})
    answer = client.get_records(ShardIterator=iterator(client, broker))
    assert answer["Records"] == []
    assert answer["MillisBehindLatest"] > 0
    broker.fault_engine.remove(name)
    broker.clock.advance(60)
    found, _ = read_on(client, answer["NextShardIterator"], reads=4)
    assert found == [b"0", b"1", b"2"]


def test_an_iterator_of_held_records_expires_like_any(client: KinesisClient, broker: Broker) -> None:
    """After five minutes; a new one reads everything again."""
    put(client, broker, b"0")
    broker.fault("latency", direction="deliver", attributes={"on": "record", "delay": "50s"}, limit=1)
    held = client.get_records(ShardIterator=iterator(client, broker))["NextShardIterator"]
    broker.clock.advance(LIFETIME + 1)
    with pytest.raises(client.exceptions.ExpiredIteratorException):
        client.get_records(ShardIterator=held)
    found, _ = read_on(client, iterator(client, broker), reads=2)
    assert found == [b"0"]


def test_another_stream_is_left_alone(client: KinesisClient, broker: Broker) -> None:
    """A fault for one channel does not touch what is read from another, whose iterators do not name it."""
    put(client, broker, b"0", b"1")
    broker.fault("stale_read", channel="other*")
    broker.fault("duplicate", channel="other*")
    broker.fault("duplicate", channel="other*", direction="deliver")
    answer = client.get_records(ShardIterator=iterator(client, broker))
    assert [record["Data"] for record in answer["Records"]] == [b"0", b"1"]
    assert broker.injections() == []


def test_messages_that_grew_are_sent_on_in_calls_that_kinesis_takes(
    client: KinesisClient, broker: Broker
) -> None:
    """Ten messages of a megabyte are more than one PutRecords may hold."""
    broker.fault("oversize")
    answer = put(client, broker, *[b'{"n": %d}' % number for number in range(10)])
    assert answer["FailedRecordCount"] == 0
    assert sum(shard.records for view in broker.engine.streams(_scope()) for shard in view.shards) == 10


def _scope() -> Any:
    from emulator.channels.memory import DEFAULT_SCOPE

    return DEFAULT_SCOPE


def test_readers_are_told_when_a_record_came_as_a_fault_has_it(client: KinesisClient, broker: Broker) -> None:
    """On the wire and in a channel of this process; the fault reads the clock of the sandbox."""

    def inject(hit: Hit) -> Done:
        hit.item.arrived = hit.environment.clock.time() - 3600
        return Done("an hour earlier")

    broker.fault_engine._types["earlier"] = FaultType("earlier", "", Phase.FLOW, (Direction.DELIVER,), inject)
    broker.fault("earlier")
    put(client, broker, b"0")
    (record,) = client.get_records(ShardIterator=iterator(client, broker))["Records"]
    (delivery,) = broker.open().read()
    assert record["ApproximateArrivalTimestamp"].timestamp() == pytest.approx(
        broker.clock.time() - 3600, abs=1
    )
    assert delivery.arrived == pytest.approx(broker.clock.time() - 3600, abs=1)
