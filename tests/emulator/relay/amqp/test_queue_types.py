"""Classic queues, quorum queues and streams through the relay, with faults on."""

from __future__ import annotations

from typing import Any

import pytest
from pika import exceptions

from tests.emulator.relay.amqp.relay_under_test import Relay, drained

TYPES = ("classic", "quorum", "stream")


def declared(relay: Relay, kind: str) -> Any:
    channel = relay.channel(confirm=True, declare=False)
    channel.queue_declare(relay.queue, durable=True, arguments={"x-queue-type": kind})
    return channel


def read(relay: Relay, kind: str, count: int, *, ack: bool = True) -> list[tuple[bytes, bool]]:
    """The bodies of the next deliveries and whether they are marked redelivered; a stream from its first."""
    reader = relay.connection().channel()
    reader.basic_qos(prefetch_count=10)
    came: list[tuple[bytes, bool]] = []

    def take(_channel: Any, method: Any, _properties: Any, body: bytes) -> None:
        came.append((body, method.redelivered))
        if ack:
            reader.basic_ack(method.delivery_tag)

    offset = {"x-stream-offset": "first"} if kind == "stream" else None
    reader.basic_consume(relay.queue, take, arguments=offset)
    for _ in range(50):
        if len(came) >= count:
            break
        reader.connection.process_data_events(time_limit=1)
    reader.connection.close()
    return came


@pytest.mark.parametrize("kind", TYPES)
def test_a_copy_of_a_publish_is_a_message_of_its_own(relay: Relay, kind: str) -> None:
    """Confirmed once; in the queue, or the stream, twice."""
    channel = declared(relay, kind)
    relay.fault("duplicate", limit=1)
    for number in range(3):
        channel.basic_publish("", relay.queue, b"%d" % number)
    assert [body for body, _ in read(relay, kind, 4)] == [b"0", b"0", b"1", b"2"]


@pytest.mark.parametrize("kind", TYPES)
def test_a_copy_of_a_delivery_leaves_one_message_at_the_broker(relay: Relay, kind: str) -> None:
    """Both are acknowledged by the client, the message once; a stream keeps it, and has it once."""
    channel = declared(relay, kind)
    channel.basic_publish("", relay.queue, b"once")
    name = relay.fault("duplicate", direction="deliver", limit=1)
    assert read(relay, kind, 2) == [(b"once", False), (b"once", True)]
    relay.fault_engine.remove(name)
    if kind == "stream":
        assert read(relay, kind, 1) == [(b"once", False)]
    else:
        assert drained(relay.direct(), relay.queue) == []


@pytest.mark.parametrize("kind", TYPES)
def test_a_connection_that_is_cut_on_delivery_loses_nothing(relay: Relay, kind: str) -> None:
    """The next consumer has the message."""
    channel = declared(relay, kind)
    channel.basic_publish("", relay.queue, b"kept")
    relay.fault("disconnect", direction="deliver", limit=1)
    with pytest.raises(exceptions.AMQPConnectionError):
        read(relay, kind, 1)
    assert [body for body, _ in read(relay, kind, 1)] == [b"kept"]


@pytest.mark.parametrize("kind", TYPES)
def test_a_refused_publish_is_not_there(relay: Relay, kind: str) -> None:
    """Nacked, and neither in the queue nor in the stream; the others are, in their order."""
    channel = declared(relay, kind)
    relay.fault("error", attributes={"status": 400}, limit=1)
    with pytest.raises(exceptions.NackError):
        channel.basic_publish("", relay.queue, b"refused")
    for number in range(2):
        channel.basic_publish("", relay.queue, b"%d" % number)
    assert [body for body, _ in read(relay, kind, 2)] == [b"0", b"1"]
