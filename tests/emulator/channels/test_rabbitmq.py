"""What the RabbitMQ channel does beyond the seam, with the real server."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import pika
import pytest

from emulator.channels.channel import ChannelUnavailableError, PublishRefusedError, PublishUnknownError
from emulator.channels.rabbitmq import RabbitMQChannel
from emulator.clock import Clock
from emulator.rng import new_uuid

if TYPE_CHECKING:
    from tests.emulator.faulted_brokers import Broker

pytestmark = pytest.mark.rabbitmq


@pytest.fixture
def broker(brokers: Callable[[str], Broker]) -> Broker:
    return brokers("rabbitmq")


def test_a_redelivery_is_known_by_its_number(broker: Broker) -> None:
    """After a connection was lost: the same sequence number, marked as redelivered."""
    channel = broker.open()
    receipt = channel.publish(b"x", "k")
    (first,) = channel.read(wait=10)
    channel.close()
    (again,) = broker.open().read(wait=10)
    assert receipt.sequence_number == first.sequence_number == again.sequence_number
    assert (first.redelivered, again.redelivered) == (False, True)


def test_a_delivery_of_a_lost_connection_cannot_be_acknowledged(broker: Broker) -> None:
    """Committing it is no error, and it comes again."""
    channel = broker.open()
    channel.publish(b"x", "k")
    (delivery,) = channel.read(wait=10)
    channel.close()
    channel.commit(delivery)
    assert [d.data for d in channel.read(wait=10)] == [b"x"]


def test_a_message_of_another_publisher_is_taken_as_it_is(broker: Broker, broker_url: str) -> None:
    """Without message id, key and time: the delivery tag and the clock stand in."""
    channel = broker.open()
    assert channel.read() == []
    with pika.BlockingConnection(pika.URLParameters(broker_url)) as connection:
        connection.channel().basic_publish("", broker.name, b"foreign")
    (delivery,) = channel.read(wait=10)
    assert (delivery.data, delivery.key, delivery.sequence_number) == (b"foreign", "", "tag-1")
    assert delivery.arrived == pytest.approx(broker.clock.time(), abs=60)
    channel.commit(delivery)


def test_a_queue_that_is_full_refuses(broker: Broker, broker_url: str) -> None:
    """The broker's nack is a definite no."""
    name = f"small-{new_uuid()[:8]}"
    with pika.BlockingConnection(pika.URLParameters(broker_url)) as connection:
        limits = {"x-max-length": 1, "x-overflow": "reject-publish"}
        connection.channel().queue_declare(name, durable=True, arguments=limits)
        amqp = connection.channel()
        amqp.confirm_delivery()
        amqp.basic_publish("", name, b"first")
        channel = broker.connect(name, None)
        with pytest.raises((PublishRefusedError, PublishUnknownError)) as failed:
            channel.publish(b"second", "k")
    assert isinstance(failed.value, PublishRefusedError)
    assert failed.value.code == "Nack"


def test_a_broker_that_cannot_be_reached_has_not_got_the_message() -> None:
    """A definite refusal; and the password in the URL is not shown."""
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    channel = RabbitMQChannel(f"amqp://user:secret@127.0.0.1:{port}/", "input", clock=Clock())
    with pytest.raises(PublishRefusedError, match=f"no broker answers at amqp://127.0.0.1:{port}") as refused:
        channel.publish(b"x", "k")
    assert "secret" not in str(refused.value)
    with pytest.raises(ChannelUnavailableError, match="no broker answers"):
        channel.read()
