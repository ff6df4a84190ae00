"""Deliveries, acknowledgements, prefetch, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emulator.amqp.wire import methods as m
from emulator.amqp.wire.properties import Properties
from tests.emulator.amqp.calls import (
    cancel,
    closed,
    consume,
    declared,
    delete,
    get,
    hung_up,
    prefetch,
    publish,
    purge,
    queue,
)
from tests.emulator.amqp.differences import FOURTH
from tests.emulator.amqp.raw_client import Came, RawClient, build_properties


def fill(client: RawClient, *bodies: bytes, name: str = "q1", **more: Any) -> None:
    """A queue with these messages in it, confirmed."""
    client.ask(queue(name, **more))
    client.ask(m.ConfirmSelect(False))
    for body in bodies:
        client.publish(publish(name), body)
    client.await_confirms(len(bodies))


def deliveries(client: RawClient, count: int) -> list[tuple[bytes, bool]]:
    """The bodies of the next deliveries, and whether they are marked redelivered."""
    came = [client.next() for _ in range(count)]
    return [(each.body, each.method.redelivered) for each in came]


def test_a_delivery_has_all_that_was_published(client: RawClient) -> None:
    """Its tag, the exchange and the key."""
    fill(client, b"one")
    assert client.ask(consume()) == m.BasicConsumeOk("t1")
    came = client.next()
    assert came.method == m.BasicDeliver("t1", 1, False, "", "q1")
    assert came.body == b"one"


def test_prefetch_limits_each_consumer_that_starts_later(client: RawClient) -> None:
    """Two are out, and each acknowledgement lets one more out."""
    fill(client, *(b"%d" % number for number in range(5)))
    client.ask(prefetch(2))
    client.ask(consume())
    assert deliveries(client, 2) == [(b"0", False), (b"1", False)]
    client.say(m.BasicAck(1, False))
    assert deliveries(client, 1) == [(b"2", False)]
    client.say(m.BasicAck(0, True))
    assert deliveries(client, 2) == [(b"3", False), (b"4", False)]


def test_prefetch_of_a_channel_is_shared(client: RawClient) -> None:
    """The first consumer takes all of it; a get is not limited."""
    fill(client, *(b"%d" % number for number in range(4)))
    client.ask(prefetch(2, of_channel=True))
    client.ask(consume(tag="a"))
    assert [came.method.consumer_tag for came in (client.next(), client.next())] == ["a", "a"]
    client.ask(consume(tag="b"))
    assert client.ask(get()).body == b"2"


def test_requeued_messages_take_their_places(client: RawClient) -> None:
    """In the order in which they were published, marked as redelivered."""
    fill(client, *(b"%d" % number for number in range(4)))
    tags = [client.ask(get()).method.delivery_tag for _ in range(3)]
    client.say(m.BasicReject(tags[1], True))
    client.say(m.BasicNack(tags[0], False, True))
    assert [(came.body, came.method.redelivered) for came in (client.ask(get()) for _ in range(3))] == [
        (b"0", True),
        (b"1", True),
        (b"3", False),
    ]


def test_recover_puts_all_back(client: RawClient) -> None:
    """They are delivered again."""
    fill(client, b"0", b"1")
    client.ask(consume())
    assert deliveries(client, 2) == [(b"0", False), (b"1", False)]
    client.ask(m.BasicRecover(True))
    assert deliveries(client, 2) == [(b"0", True), (b"1", True)]


def test_what_was_not_acknowledged_comes_back_when_the_channel_ends(
    connect: Callable[..., RawClient],
) -> None:
    """And when the connection is lost."""
    first, second = connect(channels=2), connect()
    fill(first, b"0", b"1")
    first.ask(get())
    assert first.ask(m.ChannelClose(200, "", 0, 0)) == m.ChannelCloseOk()
    assert first.ask(get(), 2).method == m.BasicGetOk(1, True, "", "q1", 1)
    first.close()
    while second.ask(queue(passive=True)).message_count < 2:
        pass
    second.ask(consume())
    assert deliveries(second, 2) == [(b"0", True), (b"1", False)]


TAGS: dict[str, tuple[Any, tuple[int, int]]] = {
    "ack": (m.BasicAck(7, False), (60, 80)),
    "ack of many": (m.BasicAck(7, True), (60, 80)),
    "ack of nothing": (m.BasicAck(0, False), (60, 80)),
    "nack": (m.BasicNack(7, False, True), (60, 120)),
    "reject": (m.BasicReject(7, True), (60, 90)),
}


@pytest.mark.parametrize("case", TAGS)
def test_an_unknown_tag_closes_the_channel(client: RawClient, case: str) -> None:
    """With the tag, and the method that had it."""
    asked, at = TAGS[case]
    client.say(asked)
    why = f"PRECONDITION_FAILED - unknown delivery tag {asked.delivery_tag}"
    assert client.next() == closed(406, why, at)


def test_a_tag_is_acknowledged_once(client: RawClient) -> None:
    """The second time closes the channel."""
    fill(client, b"0")
    client.ask(get())
    for _ in range(2):
        client.say(m.BasicAck(1, False))
    assert client.next() == closed(406, "PRECONDITION_FAILED - unknown delivery tag 1", (60, 80))


def test_acknowledging_all_of_nothing_is_fine(client: RawClient) -> None:
    """Tag 0 of many."""
    client.say(m.BasicAck(0, True))
    assert client.settle() == []


def test_consumers_of_a_deleted_queue_are_told(client: RawClient) -> None:
    """After the answer to whoever deleted it."""
    client.ask(queue())
    client.ask(consume())
    assert client.ask(delete()) == m.QueueDeleteOk(0)
    assert client.next() == m.BasicCancel("t1", True)


def test_a_client_that_does_not_know_of_cancels_gets_none(connect: Callable[..., RawClient]) -> None:
    """Capabilities are looked at."""
    client = connect(properties={})
    client.ask(queue())
    client.ask(consume())
    assert client.ask(delete()) == m.QueueDeleteOk(0)
    assert client.settle() == []


def test_one_active_consumer_until_it_goes(client: RawClient) -> None:
    """The next takes over."""
    client.ask(queue(arguments={"x-single-active-consumer": True}))
    client.ask(consume(tag="a", no_ack=True))
    client.ask(consume(tag="b", no_ack=True))
    for _ in range(2):
        client.publish(publish())
        assert client.next().method.consumer_tag == "a"
    client.ask(cancel("a"))
    client.publish(publish())
    assert client.next().method.consumer_tag == "b"


def test_the_active_consumer_stays_when_a_higher_priority_comes(client: RawClient) -> None:
    """The first that came is the active one, even without a message so far; priority chooses the next."""
    client.ask(queue(arguments={"x-single-active-consumer": True}))
    for tag, priority in (("first", 1), ("low", 2), ("high", 5)):
        client.ask(consume(tag=tag, no_ack=True, arguments={"x-priority": priority}))
    client.publish(publish())
    assert client.next().method.consumer_tag == "first"
    client.ask(cancel("first"))
    client.publish(publish())
    assert client.next().method.consumer_tag == "high"


def test_a_higher_priority_is_served_first(client: RawClient) -> None:
    """While it has room."""
    client.ask(queue())
    client.ask(prefetch(1))
    client.ask(consume(tag="low"))
    client.ask(consume(tag="high", arguments={"x-priority": 5}))
    client.publish(publish())
    assert client.next().method.consumer_tag == "high"
    client.publish(publish())
    assert client.next().method.consumer_tag == "low"


def test_messages_of_a_higher_priority_come_first(client: RawClient) -> None:
    """In a queue that has priorities; those beyond its highest count as that."""
    client.ask(queue(arguments={"x-max-priority": 5}))
    client.ask(m.ConfirmSelect(False))
    for number, priority in enumerate((0, 3, 9, 3, 5)):
        client.publish(publish(), b"%d" % number, b"\x08\x00" + bytes((priority,)))
    client.await_confirms(5)
    assert [client.ask(get(no_ack=True)).body for _ in range(5)] == [b"2", b"4", b"1", b"3", b"0"]


def test_a_full_queue_drops_what_would_be_delivered_next(client: RawClient) -> None:
    """Even where that has the highest priority."""
    client.ask(queue(arguments={"x-max-priority": 5, "x-max-length": 2}))
    client.ask(m.ConfirmSelect(False))
    for body, priority in ((b"a", 1), (b"b", 5), (b"c", 1)):
        properties = Properties()
        properties._values[11] = bytes((priority,))
        client.publish(publish(), body, properties.encode())
    client.await_confirms(3)
    assert [client.ask(get()).body for _ in range(2)] == [b"a", b"c"]


def test_a_purge_leaves_what_is_out(client: RawClient) -> None:
    """And counts only what waited."""
    fill(client, b"0", b"1")
    client.ask(get())
    assert client.ask(purge()) == m.QueuePurgeOk(1)
    client.say(m.BasicReject(1, True))
    assert client.ask(get()).body == b"0"


def test_another_connections_queue_is_locked(connect: Callable[..., RawClient]) -> None:
    """And gone with its connection."""
    owner, other = connect(), connect()
    owner.ask(queue(exclusive=True))
    refused = other.ask(get())
    assert (refused.reply_code, refused.class_id, refused.method_id) == (405, 60, 70)
    owner.ask(m.ConnectionClose(200, "", 0, 0), 0)
    owner.close()
    third = connect()
    assert third.ask(queue()) == declared()


def test_a_delivery_limit_ends_redeliveries(client: RawClient) -> None:
    """On a quorum queue: after two returns the message is gone."""
    arguments = {"x-queue-type": "quorum", "x-delivery-limit": 2}
    fill(client, b"poison", durable=True, arguments=arguments)
    client.ask(consume())
    for _ in range(3):
        came = client.next()
        client.say(m.BasicReject(came.method.delivery_tag, True))
    assert client.settle() == []
    assert client.ask(queue(durable=True, arguments=arguments)).message_count == 0


@pytest.mark.parametrize("taken", ["by a get", "by a consumer"])
def test_a_quorum_queue_counts_the_deliveries_that_came_back(
    client: RawClient, taken: str, version: tuple[int, ...]
) -> None:
    """From the second on; RabbitMQ 3 may say 0 of the first. Other headers are as they were."""
    fill(client, durable=True, arguments={"x-queue-type": "quorum"})
    client.ask(m.ConfirmSelect(False))
    client.publish(publish(), b"m", build_properties({"mine": 1}))
    client.await_confirms(1)
    if taken == "by a consumer":
        client.ask(consume())
    for count in range(3):
        came = client.next() if taken == "by a consumer" else take(client)
        headers = came.headers
        if version < FOURTH and headers.get("x-delivery-count") == 0:
            del headers["x-delivery-count"]
        assert headers == {"mine": 1} | ({"x-delivery-count": count} if count else {})
        client.say(m.BasicReject(came.method.delivery_tag, True))


def test_what_a_quorum_queue_does_not_do(client: RawClient) -> None:
    """A get beside a single active consumer, and the prefetch of a channel."""
    arguments = {"x-queue-type": "quorum", "x-single-active-consumer": True}
    client.ask(queue(durable=True, arguments=arguments))
    why = (
        "RESOURCE_LOCKED - cannot obtain access to locked queue 'q1' in vhost '/'. "
        "basic.get operations are not supported by quorum queues with single active consumer"
    )
    assert client.ask(get()) == closed(405, why, (60, 70))
    client.say(m.ChannelCloseOk())
    client.ask(m.ChannelOpen(""))
    client.ask(prefetch(2, of_channel=True))
    why = "NOT_IMPLEMENTED - queue 'q1' in vhost '/' does not support global qos"
    assert client.ask(consume()) == hung_up(540, why, (60, 20))


def take(client: RawClient) -> Came:
    """Get a message that is about to come: a quorum queue takes a while to have it back."""
    for _ in range(1000):
        if isinstance(came := client.ask(get()), Came):
            return came
    raise AssertionError("it does not come back")


def test_closing_a_connection_is_answered(client: RawClient) -> None:
    """Whatever else was open."""
    client.ask(queue())
    client.ask(consume())
    assert client.ask(m.ConnectionClose(200, "bye", 0, 0), 0) == m.ConnectionCloseOk()


def test_a_channel_that_was_refused_opens_again(client: RawClient) -> None:
    """What is sent before close-ok is dropped; then the channel is new."""
    assert isinstance(client.ask(get("missing")), m.ChannelClose)
    client.publish(publish())
    client.say(m.ChannelCloseOk())
    assert client.ask(m.ChannelOpen("")) == m.ChannelOpenOk(b"")
    assert client.ask(queue()) == declared()
    assert not isinstance(client.ask(get()), Came)


@pytest.mark.parametrize("before", ["never open", "closed by the client", "closed by the server"])
def test_a_channel_that_is_not_open(client: RawClient, before: str) -> None:
    """Closes the connection, whether it was open before or not."""
    number = 9 if before == "never open" else 1
    if before == "closed by the server":
        assert isinstance(client.ask(get("missing")), m.ChannelClose)
        client.say(m.ChannelCloseOk())
    elif before == "closed by the client":
        assert client.ask(m.ChannelClose(200, "", 0, 0)) == m.ChannelCloseOk()
    why = "CHANNEL_ERROR - expected 'channel.open'"
    assert client.ask(queue(), number) == hung_up(504, why, (50, 10))


def test_a_publish_on_a_channel_that_was_closed(client: RawClient) -> None:
    """As any other method there: the client is not left to believe that it was taken."""
    client.ask(m.ChannelClose(200, "", 0, 0))
    client.publish(publish())
    assert client.next() == hung_up(504, "CHANNEL_ERROR - expected 'channel.open'", (60, 40))
