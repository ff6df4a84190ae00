"""What clients do wrong with queues, made by pika on the wire, and right clients that give no finding."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pika
import pytest
from pika import BlockingConnection, URLParameters
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import AMQPError, UnroutableError

from emulator.amqp.wire import methods
from emulator.amqp.wire.frames import METHOD
from emulator.amqp.wire.methods import IDS
from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock
from emulator.rng import new_uuid
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.diagnosis import Finding
from rdss_sandbox.shapes.faults import NewFault
from tests.emulator.amqp.raw_client import RawClient
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def emulator(clock: Clock) -> Iterator[Embedded]:
    settings = Settings(aws_port=0, control_port=0, amqp_port=0, data_dir=None, amqp="embedded")
    with embedded(settings, clock) as running:
        yield running


class Wire:
    """One queue, the clients that use it, and what the sandbox says of them."""

    def __init__(self, emulator: Embedded, clock: Clock, control: Client) -> None:
        self.url = str(emulator.broker.url)
        self.clock = clock
        self.control = control
        self.queue = f"q-{new_uuid()[:8]}"
        self.own = self.connect("kit").channel()
        self.own.queue_declare(self.queue)
        self.own.confirm_delivery()

    def connect(self, name: str) -> BlockingConnection:
        parameters = URLParameters(self.url)
        parameters.client_properties = {"connection_name": name}
        return BlockingConnection(parameters)

    def publish(self, count: int) -> None:
        for number in range(count):
            self.own.basic_publish("", self.queue, b"%d" % number, mandatory=True)

    def consume(self, channel: BlockingChannel, count: int, **options: Any) -> list[int]:
        """Take so many messages, and return their delivery tags."""
        given = channel.consume(self.queue, inactivity_timeout=20, **options)
        return [method.delivery_tag for method, _, _ in (next(given) for _ in range(count))]

    def findings(self, queue: str | None = None) -> list[Finding]:
        return list(self.control.diagnosis(stream=queue or self.queue).findings)

    def find(self, rule: str, queue: str | None = None) -> Finding:
        """The only finding about the queue, which is of this rule."""
        (found,) = self.findings(queue)
        assert found.rule == rule
        return found


@pytest.fixture
def wire(emulator: Embedded, clock: Clock) -> Iterator[Wire]:
    with Client(emulator.control) as control:
        wire = Wire(emulator, clock, control)
        yield wire
        for fault in control.faults():
            control.remove_fault(fault.name)
        wire.own.connection.close()


_CRASHES = """
import os, pika
channel = pika.BlockingConnection(pika.URLParameters(os.environ["URL"])).channel()
given = channel.consume(os.environ["QUEUE"], auto_ack=True)
next(given)
os._exit(1)
"""


def test_automatic_acknowledgement_in_a_crash(wire: Wire) -> None:
    """A process that ends with messages in hand loses them: the broker forgot them when it sent them."""
    wire.publish(3)
    environment = {"URL": wire.url, "QUEUE": wire.queue}
    ran = subprocess.run([sys.executable, "-c", _CRASHES], env=environment, check=False)
    assert ran.returncode == 1
    findings = wait_until(wire.findings)
    assert [each.rule for each in findings] == ["auto-ack-in-a-crash"]
    assert findings[0].evidence == {"recent": [3], "delivered": 3}
    assert findings[0].faults == ()


def test_automatic_acknowledgement_when_a_fault_cuts_the_connection(wire: Wire) -> None:
    """The fault is named."""
    fault = wire.control.add_fault(NewFault("disconnect", channel=wire.queue, direction="deliver", limit=1))
    wire.publish(1)
    channel = wire.connect("lossy").channel()
    with pytest.raises(AMQPError):
        wire.consume(channel, 1, auto_ack=True)
    wire.publish(1)
    channel = wire.connect("lossy").channel()
    wire.consume(channel, 1, auto_ack=True)
    wire.control.add_fault(NewFault("disconnect", channel=wire.queue, direction="deliver", limit=1))
    wire.publish(1)
    with pytest.raises(AMQPError):
        wire.consume(channel, 1, auto_ack=True)
    found = wire.find("auto-ack-in-a-crash")
    assert found.client == f"guest/lossy (Pika Python Client Library/{pika.__version__})"
    assert fault.name not in found.faults
    assert len(found.faults) == 1


def test_a_consumer_without_a_limit(wire: Wire) -> None:
    wire.publish(200)
    connection = wire.connect("greedy")
    wire.consume(connection.channel(), 200)
    found = wire.find("no-prefetch-limit")
    assert found.evidence == {"most_in_hand": 200, "delivered": 200}
    connection.close()


def test_a_delivery_that_is_never_acknowledged(wire: Wire) -> None:
    """Half an hour of the sandbox's clock is given."""
    wire.publish(2)
    connection = wire.connect("idle")
    channel = connection.channel()
    channel.basic_qos(prefetch_count=10)
    first, _ = wire.consume(channel, 2)
    channel.basic_ack(first)
    assert wire.findings() == []
    wire.clock.advance(1_801)
    found = wire.find("never-acknowledged")
    assert (found.evidence["in_hand"], found.evidence["acked"]) == (1, 1)
    connection.close()
    assert wire.findings() == []


def test_a_loop_of_requeues(wire: Wire) -> None:
    """Nineteen times in a row are forgiven, and an ack in between begins a new row."""
    wire.publish(1)
    connection = wire.connect("loop")
    channel = connection.channel()
    channel.basic_qos(prefetch_count=1)
    given = channel.consume(wire.queue, inactivity_timeout=20)
    # The first delivery is no redelivery.
    for _ in range(20):
        channel.basic_reject(next(given)[0].delivery_tag)
    assert wire.findings() == []
    channel.basic_nack(next(given)[0].delivery_tag)
    assert next(given)[0].redelivered
    assert wire.find("requeue-loop").evidence["row"] == 20
    connection.close()


def test_a_message_for_a_queue_that_is_not_there(wire: Wire) -> None:
    """The broker confirms it and drops it; one that is mandatory comes back, and is no mistake."""
    missing, returned = f"missing-{wire.queue}", f"returned-{wire.queue}"
    wire.own.basic_publish("", missing, b"lost")
    with pytest.raises(UnroutableError):
        wire.own.basic_publish("", returned, b"returned", mandatory=True)
    assert "a queue that was not there" in wire.find("published-to-nowhere", missing).said
    assert wire.findings(returned) == []


def test_a_right_consumer_gives_no_finding(wire: Wire) -> None:
    """With pika, while messages come twice: a limit, acks, a few requeues, and an orderly end."""
    wire.control.add_fault(NewFault("duplicate", channel=wire.queue, direction="deliver"))
    wire.publish(30)
    connection = wire.connect("right")
    channel = connection.channel()
    channel.basic_qos(prefetch_count=10)
    for tag in wire.consume(channel, 3):
        channel.basic_nack(tag)
    connection.close()
    connection = wire.connect("right")
    channel = connection.channel()
    channel.basic_qos(prefetch_count=10)
    given = channel.consume(wire.queue, inactivity_timeout=20)
    for _ in range(60):
        channel.basic_ack(next(given)[0].delivery_tag)
    connection.close()
    wire.clock.advance(7_200)
    assert wire.findings() == []
    verdicts = {each.rule: each.verdict for each in wire.control.diagnosis().rules}
    assert verdicts["requeue-loop"] != "no-opportunity"


def test_automatic_acknowledgement_that_ends_in_order_gives_no_finding(wire: Wire) -> None:
    wire.publish(3)
    connection = wire.connect("logger")
    wire.consume(connection.channel(), 3, auto_ack=True)
    connection.close()
    assert wire.findings() == []


@pytest.mark.parametrize("method", [methods.BasicQos, methods.BasicConsume, methods.QueueDeclare])
def test_a_method_that_ends_too_early_is_the_brokers_to_refuse(emulator: Embedded, method: type) -> None:
    """The recorder cannot read it either; the client gets RabbitMQ's code and words, and no other end."""
    with closing(RawClient(str(emulator.broker.url))) as client:
        client.open()
        client.send_frame(METHOD, IDS[method].to_bytes(4) + b"\0\0")
        assert client.next().reply_code == 501
