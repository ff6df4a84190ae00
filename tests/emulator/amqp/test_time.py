"""What happens by the sandbox's clock: messages and queues that expire, heartbeats."""

from __future__ import annotations

from typing import Any

from emulator.amqp.wire import frames
from emulator.amqp.wire import methods as m
from tests.emulator.amqp.calls import consume, declared, get, publish, queue
from tests.emulator.amqp.engine_client import OwnBroker
from tests.emulator.amqp.raw_client import Came, build_properties

DAY = 86_400


def test_only_the_first_message_expires() -> None:
    """One that is behind another stays until that goes, and is counted."""
    own = OwnBroker()
    client = own.client()
    client.ask(queue())
    client.publish(publish(), b"long", build_properties(expiration=str(2 * DAY * 1000)))
    client.publish(publish(), b"short", build_properties(expiration="1000"))
    own.advance(DAY)
    assert client.ask(queue(passive=True)) == declared(messages=2)
    came = client.ask(get())
    assert (came.body, came.method.message_count) == (b"long", 0)
    assert client.ask(get()) == m.BasicGetEmpty("")


def test_a_time_to_live_ends_to_the_second() -> None:
    """Not before."""
    own = OwnBroker()
    client = own.client()
    client.ask(queue(arguments={"x-message-ttl": 60_000}))
    client.publish(publish())
    own.advance(59.9)
    assert client.ask(queue(passive=True)).message_count == 1
    own.advance(0.2)
    assert client.ask(queue(passive=True)).message_count == 0


def test_an_unused_queue_expires() -> None:
    """Each use puts it off; a consumer keeps it."""
    own = OwnBroker()
    client = own.client()
    client.ask(queue(arguments={"x-expires": 60_000}))
    for _ in range(3):
        own.advance(40)
        client.ask(get())
    client.ask(consume())
    own.advance(DAY)
    assert isinstance(client.ask(m.BasicCancel("t1", False)), m.BasicCancelOk)
    own.advance(59)
    assert "q1" in own.broker.vhost.queues
    own.advance(2)
    assert "q1" not in own.broker.vhost.queues


def test_dead_letters_that_expire_come_to_the_next_queue() -> None:
    """A chain of delays, each with its own time."""
    own = OwnBroker()
    client = own.client()
    client.ask(queue("q2", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q3"} | TTL))
    client.ask(queue(arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q2"} | TTL))
    client.ask(queue("q3"))
    client.publish(publish())
    own.advance(61)
    assert client.ask(queue("q2", passive=True)).message_count == 1
    own.advance(61)
    came: Any = client.ask(get("q3"))
    assert [death["queue"] for death in came.headers["x-death"]] == ["q2", "q1"]


TTL = {"x-message-ttl": 60_000}


def test_a_silent_client_is_dropped() -> None:
    """After three of its own heartbeats; any byte counts as one."""
    own = OwnBroker()
    client = own.client()
    client.connection.beat()
    for _ in range(4):
        client.connection.beat()
    client.give(frames.BEAT)
    for _ in range(5):
        client.connection.beat()
    assert not client.ended
    client.connection.beat()
    assert client.ended


def test_what_is_unacknowledged_goes_back_when_a_client_is_gone() -> None:
    """To the next consumer, at once."""
    own = OwnBroker()
    first, second = own.client(), own.client()
    first.ask(queue())
    first.ask(consume())
    assert isinstance(first.publish(publish())[0], Came)
    second.ask(consume())
    first.hang_up()
    (came,) = second.take()
    assert (came.body, came.method.redelivered) == (b"m", True)
