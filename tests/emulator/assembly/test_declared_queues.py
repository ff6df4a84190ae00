"""Exchanges, queues and forms of streams that the topology declares are there when the sandbox is ready."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pika
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.channels.kinesis import connect
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.topology import AmqpBinding, AmqpExchange, AmqpQueue, StreamForm, Topology

_TOPOLOGY: Final = Topology(
    streams={"orders": StreamForm(2, max_record_kib=2048), "many": StreamForm(mode="ON_DEMAND"), "plain": 3},
    exchanges={"events": AmqpExchange()},
    queues={"billing": AmqpQueue(bindings=(AmqpBinding("events", "order.*"),))},
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Embedded]:
    settings = Settings(aws_port=0, control_port=0, amqp_port=0, amqp=None, data_dir=None, topology=_TOPOLOGY)
    with embedded(settings) as emulator:
        yield emulator


def _publish_and_get(url: str, body: bytes) -> bytes | None:
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.basic_publish("events", "order.made", body, mandatory=True)
        got: bytes | None = channel.basic_get("billing", auto_ack=True)[2]
        return got


def test_a_queue_takes_what_is_routed_to_it(sandbox: Embedded) -> None:
    """A client publishes to the declared exchange at once, and finds its message in the declared queue."""
    assert sandbox.broker.url is not None
    assert _publish_and_get(sandbox.broker.url, b"one") == b"one"


def test_a_reset_declares_them_again(sandbox: Embedded) -> None:
    """A reset empties the queue and leaves it there."""
    assert sandbox.broker.url is not None
    with Client(sandbox.control) as client:
        client.reset()
    assert _publish_and_get(sandbox.broker.url, b"two") == b"two"


def test_a_stream_has_its_mode_and_its_largest_record(sandbox: Embedded) -> None:
    """DescribeStreamSummary tells what the topology declares."""
    kinesis = connect(sandbox.aws)
    found = {
        name: kinesis.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]
        for name in _TOPOLOGY.streams
    }
    assert found["orders"]["MaxRecordSizeInKiB"] == 2048
    assert [found[name]["OpenShardCount"] for name in ("orders", "many", "plain")] == [2, 4, 3]
    assert found["many"]["StreamModeDetails"]["StreamMode"] == "ON_DEMAND"


def test_a_queue_that_nothing_can_hold_is_a_note() -> None:
    """Without a broker the sandbox starts all the same, and says what is missing."""
    settings = Settings(aws_port=0, control_port=0, amqp="none", data_dir=None, topology=_TOPOLOGY)
    with embedded(settings) as emulator:
        assert any("the topology's queues are not declared" in note for note in emulator.notes)
