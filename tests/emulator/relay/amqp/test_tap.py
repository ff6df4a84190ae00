"""What passes the AMQP port is looked after as Kinesis records are: listed, audited, archived, joined."""

from __future__ import annotations

from collections.abc import Iterator

import pika
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock
from emulator.rng import new_uuid
from emulator.settings.settings import TOPOLOGIES, Settings
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.files.record_lines import read_line
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.topology import Topology
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split_raw
from tests.emulator.relay.amqp.relay_under_test import Relay, consumed, drained


@pytest.fixture
def sandbox(broker_url: str) -> Iterator[Embedded]:
    settings = Settings(
        aws_port=0,
        control_port=0,
        amqp_port=0,
        data_dir=None,
        upstream_amqp=broker_url,
        topology=TOPOLOGIES["default"],
    )
    with embedded(settings) as emulator:
        yield emulator


@pytest.fixture
def control(sandbox: Embedded) -> Iterator[Client]:
    with Client(sandbox.control) as client:
        yield client


@pytest.fixture
def connection(sandbox: Embedded) -> Iterator[pika.BlockingConnection]:
    connection = pika.BlockingConnection(pika.URLParameters(sandbox.broker.url))
    yield connection
    connection.close()


def body_of(control: Client, row: int) -> bytes:
    return (control.message(row).raw or "").encode()


def publish(connection: pika.BlockingConnection, queue: str, *bodies: bytes) -> None:
    """With confirms, to a queue that is made and emptied."""
    channel = connection.channel()
    channel.queue_declare(queue, durable=True)
    channel.queue_purge(queue)
    channel.confirm_delivery()
    for body in bodies:
        channel.basic_publish("", queue, body)


def test_a_confirmed_message_is_listed_and_audited(
    sandbox: Embedded, control: Client, connection: pika.BlockingConnection
) -> None:
    """Its row has the queue as its stream; its line in the audit bucket says where it was sent."""
    messages = [serialise(message) for message in Samples(5).stream(7)]
    publish(connection, "input", *messages)
    page = control.messages(matching="stream:input")
    assert page.total == 7
    assert [body_of(control, row.id) for row in page.messages] == messages
    assert {row.shard[:5] for row in page.messages} == {"amqp-"}
    status = control.drain_audit()
    assert (status.delivered, status.pending) == (7, 0)
    lines = [
        read_line(line)
        for row in control.objects("rdss-audit").objects
        for line in control.object("rdss-audit", row.key).splitlines()
    ]
    assert [line.data for line in lines] == messages
    assert {line.source.stream for line in lines if line.source} == {"amqp:input"}


def test_the_error_and_invalid_queues_end_in_their_buckets(
    control: Client, connection: pika.BlockingConnection
) -> None:
    """As the streams of those names do, whether or not anybody consumes them."""
    publish(connection, "error", b'{"failed": 1}')
    publish(connection, "invalid", b"not json", b"nor this")
    control.drain_audit()
    for bucket, expected in (
        ("rdss-error", [b'{"failed": 1}']),
        ("rdss-invalid", [b"not json", b"nor this"]),
    ):
        (row,) = control.objects(bucket).objects
        lines = control.object(bucket, row.key).splitlines()
        assert [read_line(line).data for line in lines] == expected


def test_a_sequence_and_a_duplicate_are_seen(control: Client, connection: pika.BlockingConnection) -> None:
    """A message in parts is one sequence of its queue, and the copy that a fault made is marked as one."""
    control.add_fault(NewFault("duplicate", name="twice", direction="publish", channel="output", limit=1))
    (message,) = (serialise(message) for message in Samples(9).stream(1))
    parts = split_raw(message, limit=len(message) - 200, new_id=new_uuid)
    publish(connection, "output", *parts)
    rows = control.messages(matching="stream:output").messages
    assert ["duplicate" in row.marks for row in rows] == [False, True, *[False] * (len(parts) - 1)]
    (sequence,) = control.sequences().sequences
    assert (sequence.stream, sequence.total) == ("output", len(parts))
    assert sequence.positions == tuple(range(1, len(parts) + 1))


def test_a_queue_may_have_the_name_of_a_stream(control: Client, connection: pika.BlockingConnection) -> None:
    """A fault that means something on either can be added; what means nothing on any is refused."""
    publish(connection, "input", b"so that the queue is known")
    publish(connection, "not-a-stream", b"so that this one is, too")
    control.add_fault(NewFault("reshard", name="split", channel="input", attributes={"action": "split"}))
    with pytest.raises(RefusedError, match="means nothing on 'not-a-stream', which is rabbitmq"):
        control.add_fault(NewFault("reshard", channel="not-a-stream", attributes={"action": "split"}))


def test_a_reset_forgets_them(control: Client, connection: pika.BlockingConnection) -> None:
    """And what is published afterwards is listed and audited again."""
    publish(connection, "input", b"before")
    control.drain_audit()
    control.reset()
    assert control.messages().total == 0
    publish(connection, "input", b"after")
    assert [body_of(control, row.id) for row in control.messages().messages] == [b"after"]
    assert control.drain_audit().delivered == 1


def test_dead_letter_exchanges_are_shown_for_what_they_are(relay: Relay) -> None:
    """Which exchange takes what a queue gives up, and of each such message whence it comes and why."""
    exchange, queue = f"dead-{new_uuid()[:8]}", f"dead-{new_uuid()[:8]}"
    channel = relay.channel(declare=False)
    channel.exchange_declare(exchange, "fanout")
    channel.queue_declare(queue)
    channel.queue_bind(queue, exchange)
    channel.queue_declare(relay.queue, arguments={"x-dead-letter-exchange": exchange})
    channel.basic_publish("", relay.queue, b"never taken")
    ((method, _, _),) = consumed(channel, relay.queue, 1, ack=False)
    channel.basic_reject(method.delivery_tag, requeue=False)
    channel.cancel()
    assert [body for _, _, body in consumed(channel, queue, 1)] == [b"never taken"]
    told = {event.kind: event.fields for event in relay.events.since()}
    assert told["amqp.dead_letters"]["channel"] == relay.queue
    assert told["amqp.dead_letters"]["exchange"] == exchange
    letter = told["amqp.dead_lettered"]
    assert (letter["channel"], letter["from_queue"], letter["reason"]) == (queue, relay.queue, "rejected")
    assert letter["times"] == 1


def test_what_the_log_cannot_keep_passes_and_is_told_of(
    relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message comes through; the event says how large it was."""
    monkeypatch.setattr("emulator.relay.amqp.amqp_tap.LARGEST", 10)
    channel = relay.channel(confirm=True)
    channel.basic_publish("", relay.queue, b"more than ten bytes")
    channel.basic_publish("", relay.queue, b"less")
    assert drained(channel, relay.queue) == [b"more than ten bytes", b"less"]
    told = [event.fields for event in relay.events.since() if event.kind == "amqp.unrecorded"]
    assert told == [{"channel": relay.queue, "bytes": 19, "why": "too large"}]
    (view,) = relay.log.streams(relay.log.scopes()[0])
    assert view.records == 1


def test_a_topology_without_an_audit_log_has_its_messages_listed(broker_url: str) -> None:
    """Nothing is copied where nobody asked for it."""
    settings = Settings(
        aws_port=0,
        control_port=0,
        amqp_port=0,
        data_dir=None,
        upstream_amqp=broker_url,
        topology=Topology(streams={"input": 1}, audit=None, archives={}),
    )
    with embedded(settings) as emulator, Client(emulator.control) as client:
        connection = pika.BlockingConnection(pika.URLParameters(emulator.broker.url))
        publish(connection, f"only-{Clock().time():.0f}", b"one")
        connection.close()
        assert client.messages().total == 1
