"""With no fault in force, pika cannot tell the relay from RabbitMQ."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pika
import pytest
from pika import exceptions

from emulator.channels.memory import DEFAULT_SCOPE
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.relay.amqp.amqp_server import serve_amqp
from emulator.rng import Chance
from emulator.streams.amqp_log import AmqpLog
from tests.emulator.relay.amqp.relay_under_test import Relay, consumed, drained, heard
from tests.waiting import wait_until


def test_publishes_are_confirmed_and_arrive_with_their_properties(relay: Relay) -> None:
    """Every property, header and byte; empty and several frames large."""
    channel = relay.channel(confirm=True)
    properties = pika.BasicProperties(
        content_type="application/json",
        headers={"a": [1, "b", None], "n": 2**40},
        delivery_mode=2,
        priority=3,
        correlation_id="c",
        reply_to="r",
        message_id="m",
        timestamp=1_700_000_000,
        type="t",
        app_id="app",
    )
    bodies = [b"x", b"", b"\x00\xce" * 200_000]
    for body in bodies:
        channel.basic_publish("", relay.queue, body, properties, mandatory=True)
    came = consumed(channel, relay.queue, 3)
    assert [body for _, _, body in came] == bodies
    assert all(found == properties for _, found, _ in came)


def test_get_and_its_acknowledgements(relay: Relay) -> None:
    """A message that is rejected comes back marked, one that is acknowledged does not; then there is none."""
    channel = relay.channel()
    channel.basic_publish("", relay.queue, b"1")
    channel.queue_declare(relay.queue, passive=True)
    method, _, body = channel.basic_get(relay.queue)
    assert (body, method.redelivered) == (b"1", False)
    channel.basic_reject(method.delivery_tag, requeue=True)
    method, _, body = channel.basic_get(relay.queue)
    assert (body, method.redelivered) == (b"1", True)
    channel.basic_ack(method.delivery_tag)
    assert channel.basic_get(relay.queue)[0] is None


def test_a_transaction_is_all_or_nothing(relay: Relay) -> None:
    """Rolled back, neither its publishes nor its acknowledgements happened."""
    channel = relay.channel()
    channel.basic_publish("", relay.queue, b"taken")
    channel.queue_declare(relay.queue, passive=True)
    channel.tx_select()
    tag = channel.basic_get(relay.queue)[0].delivery_tag
    channel.basic_publish("", relay.queue, b"made")
    channel.basic_ack(tag)
    channel.tx_rollback()
    channel.basic_ack(tag)
    channel.basic_publish("", relay.queue, b"made")
    channel.tx_commit()
    assert relay.at_broker() == [b"made"]


def test_what_cannot_be_routed_comes_back(relay: Relay) -> None:
    """A mandatory message for no queue."""
    channel = relay.channel(confirm=True)
    with pytest.raises(exceptions.UnroutableError) as returned:
        channel.basic_publish("", "no-such-queue", b"x", mandatory=True)
    (message,) = returned.value.messages
    assert (message.method.reply_code, message.body) == (312, b"x")


@pytest.mark.parametrize(
    ("code", "offend"),
    [
        (404, lambda channel, queue: channel.queue_declare("not-there", passive=True)),
        (406, lambda channel, queue: channel.queue_declare(queue, durable=False)),
        (404, lambda channel, queue: channel.basic_get("not-there")),
    ],
)
def test_errors_close_the_channel_and_not_the_connection(
    relay: Relay, code: int, offend: Callable[[Any, str], Any]
) -> None:
    """With RabbitMQ's code; the next channel is fine."""
    channel = relay.channel()
    with pytest.raises(exceptions.ChannelClosedByBroker) as closed:
        offend(channel, relay.queue)
    assert closed.value.reply_code == code
    assert relay.opened[0].channel().queue_declare(relay.queue, passive=True)


def test_an_unknown_delivery_tag_closes_the_channel(relay: Relay) -> None:
    """As RabbitMQ words it."""
    channel = relay.channel()
    channel.basic_ack(7)
    with pytest.raises(exceptions.ChannelClosedByBroker, match="unknown delivery tag 7") as closed:
        channel.queue_declare(relay.queue, passive=True)
    assert closed.value.reply_code == 406
    assert relay.opened[0].channel().queue_declare(relay.queue, passive=True)


def test_a_wrong_password_and_a_wrong_virtual_host_are_refused(relay: Relay) -> None:
    """By the broker, in its words."""
    with pytest.raises(exceptions.ProbableAuthenticationError):
        relay.connection(relay.url.replace("guest:", "guest:not"))
    with pytest.raises(exceptions.ProbableAccessDeniedError, match="vhost elsewhere not found"):
        relay.connection(relay.url.replace("%2F", "elsewhere"))


def test_prefetch_bounds_what_is_unacknowledged(relay: Relay) -> None:
    """Three of five, and one more for each that is acknowledged."""
    channel = relay.channel()
    for number in range(5):
        channel.basic_publish("", relay.queue, b"%d" % number)
    channel.basic_qos(prefetch_count=3)
    came = consumed(channel, relay.queue, 3, ack=False)
    assert [body for _, _, body in came] == [b"0", b"1", b"2"]
    assert consumed(channel, relay.queue, 1, wait=0.3) == []
    channel.basic_ack(came[1][0].delivery_tag, multiple=True)
    assert [body for _, _, body in consumed(channel, relay.queue, 2)] == [b"3", b"4"]


def test_a_cancelled_consumer_is_given_no_more(relay: Relay) -> None:
    """Also when it is the queue's end that cancels it."""
    channel = relay.channel()
    cancelled: list[str] = []
    channel.add_on_cancel_callback(lambda method: cancelled.append(method.method.consumer_tag))
    came: list[bytes] = []
    tag = channel.basic_consume(relay.queue, lambda _c, _m, _p, body: came.append(body), auto_ack=True)
    channel.basic_cancel(tag)
    channel.basic_publish("", relay.queue, b"x")
    again = channel.basic_consume(relay.queue, lambda _c, _m, _p, body: came.append(body), auto_ack=True)
    heard(relay.opened[0], lambda: came)
    assert came == [b"x"]
    relay.direct().queue_delete(relay.queue)
    heard(relay.opened[0], lambda: cancelled)
    assert cancelled == [again]


@pytest.mark.parametrize("kind", ["classic", "quorum", "stream"])
def test_queues_of_every_type(relay: Relay, kind: str) -> None:
    """Classic, quorum, and a stream read twice from its first message."""
    channel = relay.channel(confirm=True, declare=False)
    channel.queue_declare(relay.queue, durable=True, arguments={"x-queue-type": kind})
    for number in range(3):
        channel.basic_publish("", relay.queue, b"%d" % number)
    for _ in range(2 if kind == "stream" else 1):
        reader = relay.connection().channel()
        reader.basic_qos(prefetch_count=2)
        came: list[bytes] = []

        def take(_channel: Any, method: Any, _properties: Any, body: bytes, reader=reader, came=came) -> None:
            came.append(body)
            reader.basic_ack(method.delivery_tag)

        reader.basic_consume(
            relay.queue, take, arguments={"x-stream-offset": "first"} if kind == "stream" else None
        )
        while len(came) < 3:
            reader.connection.process_data_events(time_limit=5)
        assert came == [b"0", b"1", b"2"]


def test_a_dead_letter_says_what_it_died_of(relay: Relay) -> None:
    """The broker's x-death header arrives as it was made."""
    channel = relay.channel(declare=False)
    grave = f"{relay.queue}-dead"
    channel.queue_declare(grave)
    to_grave = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": grave}
    channel.queue_declare(relay.queue, durable=True, arguments=to_grave)
    channel.basic_publish("", relay.queue, b"x")
    ((method, _, _),) = consumed(channel, relay.queue, 1, ack=False)
    channel.basic_nack(method.delivery_tag, requeue=False)
    channel.cancel()
    ((_, properties, body),) = consumed(channel, grave, 1)
    assert body == b"x"
    assert (properties.headers["x-death"][0]["queue"], properties.headers["x-death"][0]["reason"]) == (
        relay.queue,
        "rejected",
    )


def test_a_client_of_another_protocol_gets_the_brokers_answer(relay: Relay) -> None:
    """RabbitMQ says which version it speaks, and closes: 3 says 0-9-1, 4 says 1.0."""
    with socket.create_connection(("127.0.0.1", relay.server.port), timeout=5) as connection:
        connection.sendall(b"AMQP\x09\x09\x09\x09")
        assert connection.recv(8) in (b"AMQP\x00\x00\x09\x01", b"AMQP\x03\x01\x00\x00")
        assert connection.recv(1) == b""


async def test_a_broker_that_is_not_there_closes_the_connection() -> None:
    """And an event tells which could not be reached."""
    clock = Clock()
    events = Events(clock)
    fault_engine = FaultEngine(Chance(1), clock, events)
    log = AmqpLog(None, clock, DEFAULT_SCOPE)
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    server = await serve_amqp(
        f"amqp://guest@127.0.0.1:{port}/",
        "127.0.0.1",
        0,
        fault_engine=fault_engine,
        clock=clock,
        events=events,
        log=log,
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    assert await asyncio.wait_for(reader.read(), 60) == b""
    writer.close()
    (event,) = [event for event in events.since() if event.kind == "relay.amqp.unreachable"]
    assert event.fields["upstream"] == f"127.0.0.1:{port}"
    with pytest.raises(OSError, match=f"port {server.port} on 127.0.0.1 is in use"):
        await serve_amqp(
            "amqp://localhost",
            "127.0.0.1",
            server.port,
            fault_engine=fault_engine,
            clock=clock,
            events=events,
            log=log,
        )
    with pytest.raises(ValueError, match="give an AMQP URL"):
        await serve_amqp(
            "http://localhost", "127.0.0.1", 0, fault_engine=fault_engine, clock=clock, events=events, log=log
        )
    await server.close()


def test_what_was_published_is_told(relay: Relay) -> None:
    """One event for a channel and moment, with how much it was."""
    channel = relay.channel(confirm=True)
    for _ in range(3):
        channel.basic_publish("", relay.queue, b"12345")

    def told() -> list[dict[str, Any]]:
        return [event.fields for event in relay.events.since() if event.kind == "amqp.published"]

    wait_until(lambda: sum(fields["messages"] for fields in told()) == 3)
    assert sum(fields["bytes"] for fields in told()) == 15
    assert {fields["channel"] for fields in told()} == {relay.queue}
    assert len(drained(channel, relay.queue)) == 3
