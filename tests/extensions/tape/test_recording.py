"""Recording a running sandbox: what clients and channels say to each other is on the tape."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import boto3
import pika
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock
from emulator.rng import new_uuid
from emulator.settings.settings import Settings
from extensions.tape.recording import SandboxGoneError, record_sandbox
from extensions.tape.tape_format import FORMAT
from extensions.tape.tape_reader import TapeFile
from extensions.tape.tape_writer import TapeWriter
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.messages import NewMessage
from rdss_sandbox.shapes.tape import (
    TapedChannel,
    TapedMessage,
    TapedRead,
    TapedRefusal,
    TapeMark,
)
from tests.waiting import wait_until

Entry = TypeVar("Entry")


def kinesis(url: str) -> Any:
    return boto3.client(
        "kinesis",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="AKIAPRODUCER",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture(params=["embedded", "relay"])
def recorded(request: pytest.FixtureRequest) -> Iterator[Embedded]:
    """A sandbox of its own, and one in front of another."""
    with ExitStack() as stack:
        settings = Settings(aws_port=0, control_port=0, data_dir=None, amqp_port=0)
        found = stack.enter_context(embedded(settings))
        if request.param == "relay":
            relay = Settings(aws_port=0, control_port=0, data_dir=None, amqp_port=0, upstream_aws=found.aws)
            found = stack.enter_context(embedded(relay))
        yield found


def recording(emulator: Embedded, path: Path) -> AbstractContextManager[None]:
    """Record while the context lasts."""
    return recording_from(emulator.control, path)


@contextmanager
def recording_from(control: str, path: Path, token: str | None = None) -> Iterator[None]:
    """Record the sandbox whose control API is at ``control`` while the context lasts."""
    stop, failed = threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            with Client(control, token=token) as client, TapeWriter(path, TapeMark(FORMAT, "1", 0.0)) as tape:
                record_sandbox(client, tape, stop.is_set, Clock())
        except BaseException as error:  # noqa: BLE001 -- raised where it is waited for
            failed.append(error)

    thread = threading.Thread(target=run)
    with Client(control, token=token) as client:
        thread.start()
        wait_until(lambda: client.recordings.list().recordings or failed)
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if failed:
        raise failed[0]


def read(path: Path, kind: type[Entry], where: Callable[[Any], bool] = lambda _: True) -> list[Entry]:
    return [each for each in TapeFile.open(path).read() if isinstance(each, kind) and where(each)]


def test_messages_are_on_the_tape_as_they_were_put(recorded: Embedded, tmp_path: Path) -> None:
    """With channel, key, shard, number, size, who put them and how long that took."""
    path, client = tmp_path / "puts.tape", kinesis(recorded.aws)
    with recording(recorded, path):
        single = client.put_record(StreamName="input", Data=b"one", PartitionKey="a")
        records = [{"Data": b"x" * size, "PartitionKey": str(size)} for size in (10, 20, 30)]
        batch = client.put_records(StreamName="input", Records=records)
    answers = [single, *batch["Records"]]
    found = read(path, TapedMessage)
    assert [(each.channel, each.body, each.size, each.key) for each in found] == [
        ("input", b"one", 3, "a"),
        *(("input", b"x" * size, size, str(size)) for size in (10, 20, 30)),
    ]
    assert [(each.shard, each.number) for each in found] == [
        (each["ShardId"], each["SequenceNumber"]) for each in answers
    ]
    assert all("AKIAPRODUCER" in each.client and 0 < each.latency < 10 for each in found)


def test_reads_are_on_the_tape_without_what_they_gave(recorded: Embedded, tmp_path: Path) -> None:
    """Who asked for which shard, from where, and how much came."""
    path, client = tmp_path / "reads.tape", kinesis(recorded.aws)
    with recording(recorded, path):
        put = client.put_record(StreamName="input", Data=b"one", PartitionKey="a")
        place = {"StreamName": "input", "ShardId": put["ShardId"]}
        begun = client.get_shard_iterator(**place, ShardIteratorType="TRIM_HORIZON")
        first = client.get_records(ShardIterator=begun["ShardIterator"])
        client.get_records(ShardIterator=first["NextShardIterator"])
    asked, *reads = read(path, TapedRead)
    assert (asked.operation, asked.start, asked.shard) == (
        "GetShardIterator", "TRIM_HORIZON", put["ShardId"],
    )  # fmt: skip
    assert [(each.operation, each.channel, each.shard, each.records) for each in reads] == [
        ("GetRecords", "input", put["ShardId"], 1),
        ("GetRecords", "input", put["ShardId"], 0),
    ]
    assert not any(each.ended for each in reads)


def test_refusals_are_on_the_tape_with_their_codes(recorded: Embedded, tmp_path: Path) -> None:
    """Those of a call, and those of some records in one."""
    path, client = tmp_path / "refusals.tape", kinesis(recorded.aws)
    with recording(recorded, path), Client(recorded.control) as control:
        with pytest.raises(ClientError):
            client.put_record(StreamName="nowhere", Data=b"one", PartitionKey="a")
        control.add_fault(NewFault("partial_failure", channel="input"))
        records = [{"Data": b"x", "PartitionKey": str(each)} for each in range(20)]
        failed = client.put_records(StreamName="input", Records=records)["FailedRecordCount"]
    whole, *some = read(path, TapedRefusal)
    assert (whole.operation, whole.channel, whole.code, whole.records) == (
        "PutRecord", "nowhere", "ResourceNotFoundException", 1,
    )  # fmt: skip
    assert 0 < sum(each.records for each in some) == failed
    assert {(each.operation, each.of) for each in some} == {("PutRecords", 20)}
    assert len(read(path, TapedMessage)) == 20 - failed


def test_a_reshard_is_on_the_tape(recorded: Embedded, tmp_path: Path) -> None:
    """The open shards of a stream are there from the start, and again when they have changed."""
    path, client = tmp_path / "reshard.tape", kinesis(recorded.aws)
    with recording(recorded, path), Client(recorded.control) as control:
        before = [each.id for each in control.stream("input").shards if each.open]
        client.split_shard(StreamName="input", ShardToSplit=before[0], NewStartingHashKey="12345")
        client.put_record(StreamName="input", Data=b"one", PartitionKey="a")
        wait_until(
            lambda: len([each for each in control.stream("input").shards if each.open]) == len(before) + 1
        )
        after = [each.id for each in control.stream("input").shards if each.open]
    seen = [
        [shard.id for shard in each.shards]
        for each in read(path, TapedChannel, lambda e: e.channel == "input")
    ]
    assert seen == [before, after]


def test_what_is_pushed_to_readers_is_on_the_tape(tmp_path: Path) -> None:
    """Each event of enhanced fan-out, with how much it had."""
    path = tmp_path / "pushed.tape"
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, amqp="none")) as emulator:
        client = kinesis(emulator.aws)
        put = client.put_record(StreamName="input", Data=b"one", PartitionKey="a")
        arn = client.describe_stream_summary(StreamName="input")["StreamDescriptionSummary"]["StreamARN"]
        consumer = client.register_stream_consumer(StreamARN=arn, ConsumerName="fan")["Consumer"]
        with recording(emulator, path):
            subscription = client.subscribe_to_shard(
                ConsumerARN=consumer["ConsumerARN"],
                ShardId=put["ShardId"],
                StartingPosition={"Type": "TRIM_HORIZON"},
            )
            with closing(subscription["EventStream"]) as events:
                next(event for event in events if event["SubscribeToShardEvent"]["Records"])
    pushed = read(path, TapedRead, lambda each: each.records)[0]
    assert (pushed.operation, pushed.channel, pushed.shard) == ("SubscribeToShard", "input", put["ShardId"])
    assert (pushed.records, pushed.size) == (1, 3)


def test_what_is_sent_through_the_control_api_is_on_the_tape(recorded: Embedded, tmp_path: Path) -> None:
    """It is nobody's call, and a message all the same."""
    path = tmp_path / "sent.tape"
    with recording(recorded, path), Client(recorded.control) as control:
        sent = control.send(NewMessage("input", b"one", "a"))
    (found,) = read(path, TapedMessage)
    assert (found.body, found.key, found.shard, found.number) == (
        b"one",
        "a",
        sent.shard,
        sent.sequence_number,
    )


def test_a_sandbox_that_ends_ends_its_recording(tmp_path: Path) -> None:
    """What passed until then is on the tape."""
    path = tmp_path / "ended.tape"
    with ExitStack() as outer, ExitStack() as inner:
        settings = Settings(aws_port=0, control_port=0, data_dir=None, amqp_port=0)
        emulator = inner.enter_context(embedded(settings))
        outer.enter_context(pytest.raises(SandboxGoneError))
        outer.enter_context(recording(emulator, path))
        kinesis(emulator.aws).put_record(StreamName="input", Data=b"one", PartitionKey="a")
        wait_until(lambda: read(path, TapedMessage))
    assert [each.body for each in read(path, TapedMessage)] == [b"one"]


def test_publishes_and_deliveries_of_amqp_are_on_the_tape(tmp_path: Path) -> None:
    """With exchange or queue and routing key, as faults know them."""
    path = tmp_path / "amqp.tape"
    settings = Settings(aws_port=0, control_port=0, data_dir=None, amqp_port=0, amqp="embedded")
    with embedded(settings) as emulator:
        assert emulator.broker.url is not None
        with (
            closing(pika.BlockingConnection(pika.URLParameters(emulator.broker.url))) as connection,
            recording(emulator, path),
        ):
            channel = connection.channel()
            channel.queue_declare("jobs")
            channel.basic_publish("", "jobs", b"one")
            wait_until(lambda: channel.basic_get("jobs", auto_ack=True)[0])
    (message,) = read(path, TapedMessage)
    assert (message.channel, message.key, message.body, message.size) == ("jobs", "jobs", b"one", 3)
    (got,) = read(path, TapedRead)
    assert (got.channel, got.operation, got.records, got.size) == ("jobs", "basic.get", 1, 3)


@pytest.mark.parametrize("upstream", ["embedded", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def test_what_a_broker_refuses_is_on_the_tape(
    tmp_path: Path, upstream: str, request: pytest.FixtureRequest
) -> None:
    """What no queue takes, what a full queue takes no more, and a call on what is not there."""
    path, queue = tmp_path / "refused.tape", f"full-{new_uuid()}"
    given = (
        {"amqp": "embedded"}
        if upstream == "embedded"
        else {"upstream_amqp": request.getfixturevalue("broker_url")}
    )
    settings = Settings(aws_port=0, control_port=0, data_dir=None, amqp_port=0, **given)
    with embedded(settings) as emulator:
        assert emulator.broker.url is not None
        with (
            closing(pika.BlockingConnection(pika.URLParameters(emulator.broker.url))) as connection,
            recording(emulator, path),
        ):
            channel = connection.channel()
            channel.confirm_delivery()
            arguments = {"x-max-length": 1, "x-overflow": "reject-publish"}
            channel.queue_declare(queue, exclusive=True, arguments=arguments)
            channel.basic_publish("", queue, b"one")
            with pytest.raises(pika.exceptions.NackError):
                channel.basic_publish("", queue, b"two")
            with pytest.raises(pika.exceptions.UnroutableError):
                channel.basic_publish("", "nowhere", b"three", mandatory=True)
            with pytest.raises(pika.exceptions.ChannelClosedByBroker):
                channel.queue_declare(f"{queue}-2", passive=True)
    found = [(each.channel, each.operation, each.code) for each in read(path, TapedRefusal)]
    assert found == [
        (queue, "basic.publish", "nack"),
        ("nowhere", "basic.publish", "312"),
        ("nowhere", "queue.declare", "404"),
    ]
    assert [each.body for each in read(path, TapedMessage)] == [b"one", b"two", b"three"]


def test_a_full_disk_ends_the_recording_and_not_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sandbox answers on, and nobody listens any more."""
    path = tmp_path / "full.tape"

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with (
        embedded(Settings(aws_port=0, control_port=0, data_dir=None, amqp_port=0)) as emulator,
        ExitStack() as on,
    ):
        client = kinesis(emulator.aws)
        on.enter_context(pytest.raises(OSError, match="No space left"))
        on.enter_context(recording(emulator, path))
        control = on.enter_context(Client(emulator.control))
        client.put_record(StreamName="input", Data=b"one", PartitionKey="a")
        wait_until(lambda: read(path, TapedMessage))
        monkeypatch.setattr(TapeWriter, "flush", refuse)
        wait_until(lambda: not control.recordings.list().recordings)
        assert client.put_record(StreamName="input", Data=b"two", PartitionKey="a")["ShardId"]
    assert [each.body for each in read(path, TapedMessage)] == [b"one"]
