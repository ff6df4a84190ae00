"""Dead letters, and what makes messages die: a consumer, time, length, the number of attempts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emulator.amqp.wire import methods as m
from tests.emulator.amqp.calls import get, publish, queue
from tests.emulator.amqp.differences import FOURTH
from tests.emulator.amqp.raw_client import Came, RawClient, build_properties

TO_Q2 = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q2"}


def letter(client: RawClient, name: str = "q2") -> Came:
    """The next message of a queue, waited for."""
    for _ in range(500):
        if isinstance(came := client.ask(get(name, no_ack=True)), Came):
            return came
    raise AssertionError(f"nothing came to {name}")


def put(client: RawClient, *bodies: bytes, to: str = "q1", properties: bytes = b"\0\0") -> None:
    for body in bodies:
        client.publish(publish(to), body, properties)
    client.await_confirms(len(bodies))


@pytest.fixture
def dying(client: RawClient) -> Callable[..., RawClient]:
    """Declare a queue whose dead letters go to q2, with further arguments, in confirm mode."""

    def declare(**arguments: Any) -> RawClient:
        named = {f"x-{name.replace('_', '-')}": value for name, value in arguments.items()}
        client.ask(queue("q2"))
        client.ask(queue(arguments=TO_Q2 | named))
        client.ask(m.ConfirmSelect(False))
        return client

    return declare


def test_a_rejected_message_tells_its_death(
    dying: Callable[..., RawClient], version: tuple[int, ...]
) -> None:
    """In headers sorted with its own, the expiration taken away."""
    client = dying()
    put(client, b"m", properties=build_properties({"z": 1, "a": 2}, expiration="60000"))
    client.ask(get())
    client.say(m.BasicReject(1, False))
    came = letter(client)
    (death,) = came.headers["x-death"]
    assert death.pop("time") > 0
    assert death == {
        "original-expiration": "60000",
        "count": 1,
        "reason": "rejected",
        "queue": "q1",
        "exchange": "",
        "routing-keys": ["q1"],
    }
    first = {f"x-first-death-{name}": value for name, value in FIRST.items()}
    last = {f"x-last-death-{name}": value for name, value in FIRST.items()} if version >= FOURTH else {}
    headers = came.headers
    headers.pop("x-death")
    assert headers == {"a": 2, "z": 1} | first | last
    assert came.properties.text("expiration") is None
    assert came.method == m.BasicGetOk(2, False, "", "q2", 0)


FIRST = {"exchange": "", "queue": "q1", "reason": "rejected"}


def test_a_second_death_of_the_same_kind_is_counted(client: RawClient) -> None:
    """One entry for each queue and reason."""
    client.ask(queue(arguments={"x-dead-letter-exchange": ""}))
    client.ask(m.ConfirmSelect(False))
    put(client, b"m")
    for _ in range(3):
        client.settle()
        while not isinstance(came := client.ask(get()), Came):
            pass
        client.say(m.BasicReject(came.method.delivery_tag, False))
    while not isinstance(came := client.ask(get()), Came):
        pass
    assert [(death["count"], death["reason"]) for death in came.headers["x-death"]] == [(3, "rejected")]


def test_the_longest_waiting_goes_from_a_full_queue(dying: Callable[..., RawClient]) -> None:
    """And the publish is confirmed."""
    client = dying(max_length=2)
    put(client, b"0", b"1", b"2")
    came = letter(client)
    assert (came.body, came.headers["x-death"][0]["reason"]) == (b"0", "maxlen")
    assert [client.ask(get()).body for _ in range(2)] == [b"1", b"2"]


def test_a_queue_may_be_full_by_bytes(dying: Callable[..., RawClient]) -> None:
    """A message larger than all of it goes itself."""
    client = dying(max_length_bytes=4)
    put(client, b"abc", b"de")
    assert letter(client).body == b"abc"
    client.publish(publish(), b"abcde")
    assert isinstance(client.next(), m.BasicAck)
    assert [letter(client).body for _ in range(2)] == [b"de", b"abcde"]


def test_a_full_queue_may_refuse(client: RawClient) -> None:
    """By a nack; what is in it stays."""
    client.ask(queue(arguments={"x-max-length": 1, "x-overflow": "reject-publish"}))
    client.ask(m.ConfirmSelect(False))
    put(client, b"0")
    client.publish(publish(), b"1")
    refused = client.next()
    assert isinstance(refused, m.BasicNack)
    assert refused.delivery_tag == 2
    assert client.ask(get()).body == b"0"


def test_a_message_expires(dying: Callable[..., RawClient]) -> None:
    """By its own expiration, or by the queue's if that is shorter."""
    client = dying(message_ttl=1)
    put(client, b"m", properties=build_properties(expiration="60000"))
    came = letter(client)
    (death,) = came.headers["x-death"]
    assert (death["reason"], death["original-expiration"]) == ("expired", "60000")


def test_no_time_to_live_means_now_or_never(dying: Callable[..., RawClient]) -> None:
    """Without a consumer it never lies in the queue."""
    client = dying()
    put(client, b"m", properties=build_properties(expiration="0"))
    assert letter(client).body == b"m"


def test_what_would_go_in_circles_is_dropped(client: RawClient) -> None:
    """If nobody rejected it on the way."""
    client.ask(queue("q1", arguments={"x-dead-letter-exchange": "", "x-message-ttl": 1}))
    client.ask(m.ConfirmSelect(False))
    put(client, b"m")
    for _ in range(1000):
        if client.ask(queue(passive=True)).message_count == 0:
            break
    else:
        raise AssertionError("it goes round and round")


def test_without_the_exchange_it_is_dropped(client: RawClient) -> None:
    """As a dead letter exchange may be declared later."""
    client.ask(queue(arguments={"x-dead-letter-exchange": "e1"}))
    client.ask(m.ConfirmSelect(False))
    put(client, b"m")
    client.ask(get())
    client.say(m.BasicReject(1, False))
    assert client.settle() == []
    assert client.ask(get()) == m.BasicGetEmpty("")
