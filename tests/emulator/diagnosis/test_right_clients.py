"""Right clients of real boto3 have no finding, under faults too: a false alarm is worse than a miss."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from emulator.clock import Clock
from emulator.rng import new_uuid
from schemas.message_timestamps import timestamp
from schemas.rdss.sequence import split
from tests.emulator.diagnosis.diagnosed_stream import FIRST, LEFT, RIGHT, Wire

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

PATIENCE = 400.0
"""More than any rule waits."""


def expect_nothing(wire: Wire) -> None:
    assert wire.findings() == []
    wire.clock.advance(PATIENCE)
    assert wire.findings() == []


class Consumer:
    """A right consumer: every shard, parents first, goes on from its checkpoints after whatever happens."""

    def __init__(self, wire: Wire, client: KinesisClient) -> None:
        self.wire = wire
        self.client = client
        self.after: dict[str, str] = {}
        self.done: set[str] = set()
        self.iterators: dict[str, str] = {}
        self.seen: list[str] = []

    def restart(self) -> None:
        """Come back with nothing but the checkpoints."""
        self.iterators.clear()

    def turn(self) -> None:
        """Read every shard that is ready once."""
        shards = self.client.list_shards(StreamName=self.wire.stream)["Shards"]
        there = {shard["ShardId"] for shard in shards}
        for shard in shards:
            name = shard["ShardId"]
            parents = {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")} & there
            if name not in self.done and parents <= self.done:
                self._read(name)

    def _read(self, shard: str) -> None:
        if shard not in self.iterators:
            after = self.after.get(shard, "")
            start = "AFTER_SEQUENCE_NUMBER" if after else "TRIM_HORIZON"
            self.iterators[shard] = self.wire.iterator(self.client, shard, start, after)
        try:
            answer = self.client.get_records(ShardIterator=self.iterators[shard], Limit=10)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ExpiredIteratorException":
                del self.iterators[shard]
            self.wire.clock.advance(1)
            return
        for record in answer["Records"]:
            self.seen.append(record["SequenceNumber"])
            self.after[shard] = record["SequenceNumber"]
        if following := answer.get("NextShardIterator"):
            self.iterators[shard] = following
        else:
            self.done.add(shard)


def test_a_consumer_through_a_reshard_and_restarts(wire: Wire) -> None:
    consumer = Consumer(wire, wire.client("reader"))
    wire.put(15)
    consumer.turn()
    wire.split()
    wire.put(30)
    for _ in range(3):
        consumer.turn()
        wire.clock.advance(3)
        consumer.restart()
    for _ in range(4):
        consumer.turn()
    assert len(set(consumer.seen)) == len(consumer.seen) == 45
    expect_nothing(wire)


@pytest.mark.parametrize(
    ("type_", "attributes"),
    [
        ("expire_iterator", {}),
        ("throttle", {}),
        ("error", {}),
        ("stale_read", {}),
        ("reorder", {}),
        ("latency", {"delay": 0.01}),
        ("duplicate", {}),
    ],
)
def test_a_consumer_under_a_fault(wire: Wire, type_: str, attributes: dict[str, object]) -> None:
    consumer = Consumer(wire, wire.client("reader"))
    wire.put(12)
    wire.fault(type_, direction="deliver", limit=4, attributes=attributes)
    consumer.turn()
    wire.split()
    wire.put(12)
    for _ in range(10):
        consumer.turn()
        wire.clock.advance(1)
    assert len(set(consumer.seen)) == 24
    expect_nothing(wire)


def test_a_clock_that_is_set_forward_expires_iterators(wire: Wire) -> None:
    """Nobody held one for five minutes: the sandbox made it so."""
    consumer = Consumer(wire, wire.client("reader"))
    wire.put(2)
    consumer.turn()
    wire.clock.advance(301)
    wire.put(2)
    consumer.turn()
    consumer.turn()
    assert len(consumer.seen) == 4
    expect_nothing(wire)


def test_two_applications_and_a_tail_on_one_stream(wire: Wire) -> None:
    """Each reads for itself, at its own pace, and one begins when the other is through with the parent."""
    one, other = (Consumer(wire, wire.client(name)) for name in ("one", "other"))
    tail = wire.client("tail")
    latest = wire.iterator(tail, start="LATEST")
    wire.put(10)
    one.turn()
    wire.split()
    wire.put(10)
    for _ in range(3):
        one.turn()
    wire.clock.advance(25)
    for _ in range(4):
        other.turn()
    while latest := wire.read(tail, latest):
        pass
    for child in (LEFT, RIGHT):
        wire.read(tail, wire.iterator(tail, child))
    assert len(one.seen) == len(other.seen) == 20
    expect_nothing(wire)


def test_workers_that_share_a_key_and_a_colleague_with_another(wire: Wire) -> None:
    """Two workers with one access key take a child each; a third with another key takes over one."""
    first, second = Consumer(wire, wire.client("workers")), Consumer(wire, wire.client("workers"))
    third = Consumer(wire, wire.client("colleague"))
    wire.put(5)
    first.turn()
    wire.split()
    wire.put(20)
    first.turn()
    second.done = {FIRST, RIGHT}
    first.done |= {LEFT}
    first.turn()
    second.turn()
    third.done = {FIRST, RIGHT}
    third.after = dict(second.after)
    wire.put(20)
    for _ in range(3):
        first.turn()
        third.turn()
    assert len({*first.seen, *second.seen, *third.seen}) == 45
    expect_nothing(wire)


def test_a_child_that_a_colleague_with_another_key_takes(wire: Wire) -> None:
    first, second = Consumer(wire, wire.client("one")), Consumer(wire, wire.client("two"))
    wire.put(3)
    first.turn()
    wire.split()
    wire.put(20)
    first.turn()
    first.done |= {RIGHT}
    second.done = {FIRST, LEFT}
    for _ in range(3):
        first.turn()
        second.turn()
    assert len({*first.seen, *second.seen}) == 23
    expect_nothing(wire)


def test_a_helper_that_looks_at_the_stream_again_and_again(wire: Wire) -> None:
    """A test that reads from the start each time keeps no checkpoint, and needs none."""
    helper = wire.client("helper")
    for _ in range(4):
        wire.put(2)
        wire.read(helper, wire.iterator(helper), 2)
        wire.clock.advance(10)
    expect_nothing(wire)


def test_a_fan_out_consumer(wire: Wire) -> None:
    """It subscribes from the start, and after the reshard to the children; the events are no reads."""
    client = wire.client("fan")
    arn = client.describe_stream_summary(StreamName=wire.stream)["StreamDescriptionSummary"]["StreamARN"]
    consumer = client.register_stream_consumer(StreamARN=arn, ConsumerName="fan")["Consumer"]["ConsumerARN"]
    wire.put(5)
    wire.split()
    wire.put(10)
    for shard in (FIRST, LEFT, RIGHT):
        answer = client.subscribe_to_shard(
            ConsumerARN=consumer, ShardId=shard, StartingPosition={"Type": "TRIM_HORIZON"}
        )
        first = next(iter(answer["EventStream"]))["SubscribeToShardEvent"]
        assert len(first["Records"]) == 5 or shard != FIRST
        answer["EventStream"].close()
    clients = {each.name for each in wire.control.diagnosis().clients}
    assert "fan (consumer)" in clients
    expect_nothing(wire)


def test_a_producer_that_puts_failed_entries_again_with_back_off(wire: Wire) -> None:
    """Partial failures and throttles, each tried again after a longer pause of the producer's."""
    wire.fault("partial_failure", limit=6)
    left = [
        {"Data": json.dumps(wire.samples.message()).encode(), "PartitionKey": new_uuid()} for _ in range(8)
    ]
    while left:
        answer = wire.producer.put_records(StreamName=wire.stream, Records=left)  # type: ignore[arg-type]
        left = [entry for entry, each in zip(left, answer["Records"], strict=True) if "ErrorCode" in each]
    expect_nothing(wire)


def test_the_retries_of_boto3_itself(wire: Wire) -> None:
    """Its standard mode pauses at random, growing; six throttles in a row are its usual day."""
    wire.fault("throttle", limit=3)
    patient = wire.client("patient", retries={"mode": "standard", "total_max_attempts": 5})
    message = json.dumps(wire.samples.message()).encode()
    patient.put_record(StreamName=wire.stream, Data=message, PartitionKey="k")
    expect_nothing(wire)


@pytest.mark.parametrize("type_", ["mutate", "corrupt", "duplicate", "oversize", "reorder", "latency"])
def test_what_a_fault_does_to_messages_is_no_clients(wire: Wire, type_: str) -> None:
    attributes = {"delay": 0.01} if type_ == "latency" else {}
    wire.fault(type_, limit=3, attributes=attributes)
    wire.put(6)
    for part in split(wire.samples.big_message(2), new_id=new_uuid):
        wire.put_bytes(part)
    expect_nothing(wire)


def test_an_object_that_is_published_again(wire: Wire) -> None:
    """A retry, the object as it was in other bytes, an answer with it, and what came after it.

    "When republishing a previously published digital object", isPreviousVersionOf may be added.
    """
    message = wire.samples.message("MetadataCreate")

    def put_again(**header: object) -> None:
        header = {**message["messageHeader"], "messageId": new_uuid(), **header}
        wire.put_bytes(json.dumps({"messageHeader": header, "messageBody": message["messageBody"]}).encode())

    wire.put_bytes(json.dumps(message).encode())
    wire.put_bytes(json.dumps(message).encode())
    message["messageBody"] = dict(reversed(message["messageBody"].items()))
    put_again()
    put_again(messageType="MetadataUpdate")
    put_again(messageType="MetadataRead", messageClass="Document", correlationId=new_uuid())
    following = {"identifierValue": new_uuid(), "identifierType": "UUID"}
    message["messageBody"]["objectRelatedIdentifier"] = [
        {"identifier": following, "relationType": "isPreviousVersionOf"}
    ]
    put_again()
    put_again(messageType="MetadataUpdate")
    expect_nothing(wire)


def test_updates_and_everything_else_of_the_samples(wire: Wire) -> None:
    for message in wire.samples.stream(60):
        wire.put_bytes(json.dumps(message).encode(), new_uuid())
    expect_nothing(wire)


def test_a_message_whose_time_was_set_forward_past_its_end(wire: Wire) -> None:
    """The producer goes by the real time; the sandbox's clock is minutes ahead of it."""
    wire.clock.advance(300)
    message = wire.samples.message()
    message["messageHeader"]["messageTimings"]["expirationTimestamp"] = timestamp(Clock().time() + 60)
    wire.put_bytes(json.dumps(message).encode())
    expect_nothing(wire)


def test_a_stream_for_two_kinds_of_records(wire: Wire) -> None:
    """Every second record is a sensor's, or packed by the KPL: the stream is not for messages alone."""
    for number in range(12):
        wire.put(1)
        wire.put_bytes(b"reading %d" % number)
    for _ in range(30):
        wire.put_bytes(b"\xf3\x89\x9a\xc2 aggregated")
    expect_nothing(wire)


def test_a_queue_of_rejected_messages(wire: Wire) -> None:
    """It holds messages with a code, and may hold the bytes of one that could not be read."""
    wire.put(10)
    message = wire.samples.message()
    message["messageHeader"] |= {"errorCode": "GENERR007", "errorDescription": "no JSON"}
    wire.put_bytes(json.dumps(message).encode())
    wire.put_bytes(b'{"messageHeader": {')
    expect_nothing(wire)


def test_shards_that_clients_share(wire: Wire) -> None:
    """Two workers with keys of their own have a shard each; a third has both, and one looks at a shard."""
    wire.producer.delete_stream(StreamName=wire.stream)
    wire.create(shards=2)
    wire.put(30)
    for key, shards in (("one", [FIRST]), ("two", [LEFT]), ("all", [FIRST, LEFT])):
        client = wire.client(key)
        for shard in shards:
            wire.read(client, wire.iterator(client, shard), 6)
    looking = wire.client("looking")
    wire.read(looking, wire.iterator(looking), 2)
    expect_nothing(wire)


def test_records_that_are_no_messages(wire: Wire) -> None:
    """Any bytes are welcome on a stream, such as KPL's aggregates: the contract is about messages."""
    for data in (b"reading 17", b'{"a": 1}', b"[]", b"\xf3\x89\x9a\xc2 aggregated", b"reading 17"):
        wire.put_bytes(data)
    expect_nothing(wire)


def test_what_a_receiver_rejects_is_not_its_mistake(wire: Wire) -> None:
    """A message that is put on an error queue carries its code, and is invalid by itself."""
    message = wire.samples.message()
    message["messageHeader"]["errorCode"] = "GENERR001"
    del message["messageHeader"]["messageType"]
    wire.put_bytes(json.dumps(message).encode())
    expect_nothing(wire)


def test_a_stream_that_is_deleted_and_created_again(wire: Wire) -> None:
    """What was read of the first says nothing of the second."""
    consumer = Consumer(wire, wire.client("reader"))
    wire.put(3)
    consumer.turn()
    wire.producer.delete_stream(StreamName=wire.stream)
    wire.create()
    wire.put(3)
    again = Consumer(wire, consumer.client)
    again.turn()
    assert len(again.seen) == 3
    expect_nothing(wire)


def test_a_failed_entry_that_is_written_anew_and_put_again(wire: Wire) -> None:
    """A producer that serialises at each try has other bytes under the same messageId, and loses nothing."""
    message = wire.samples.message()
    wire.fault("partial_failure", limit=1)
    for text in (json.dumps(message), json.dumps(message, indent=1)):
        entry = {"Data": text.encode(), "PartitionKey": new_uuid()}
        wire.producer.put_records(StreamName=wire.stream, Records=[entry])  # type: ignore[list-item]
    expect_nothing(wire)
