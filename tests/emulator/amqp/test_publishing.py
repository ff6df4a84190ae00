"""Publishes: where they go, what comes back, and which are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emulator.amqp.wire import methods as m
from emulator.amqp.wire.field_tables import Field
from tests.emulator.amqp.calls import (
    bind,
    bind_exchange,
    closed,
    declared,
    exchange,
    get,
    hung_up,
    publish,
    queue,
    table,
)
from tests.emulator.amqp.differences import FOURTH
from tests.emulator.amqp.raw_client import Came, RawClient, build_properties

KEYS = ["", "a", "a.b", "a.b.c", ".", "a.", ".a", "a..b"]
TOPICS = {
    "": [""],
    "#": KEYS,
    "#.#": KEYS,
    "*": ["a"],
    "*.*": ["a.b", ".", "a.", ".a"],
    "a.#": ["a", "a.b", "a.b.c", "a.", "a..b"],
    "#.a": ["a", ".a"],
    "*.#": KEYS[1:],
    "#.*": KEYS[1:],
    "a.*": ["a.b", "a."],
    "a.*.b": ["a..b"],
    "a.#.b": ["a.b", "a..b"],
    "*a": [],
    "a#": [],
}


def bodies(client: RawClient, name: str = "q1") -> list[bytes]:
    """All that lies in a queue, taken out."""
    found = []
    while isinstance(came := client.ask(get(name, no_ack=True)), Came):
        found.append(came.body)
    return found


@pytest.mark.parametrize("pattern", TOPICS)
def test_a_topic_matches_words(client: RawClient, pattern: str) -> None:
    """A star is one word, a hash any number; words may be empty."""
    client.ask(queue())
    client.ask(exchange("e1", "topic"))
    client.ask(bind("e1", pattern))
    client.ask(m.ConfirmSelect(False))
    for key in KEYS:
        client.publish(publish(key, "e1"), key.encode())
    client.await_confirms(len(KEYS))
    assert bodies(client) == [key.encode() for key in TOPICS[pattern]]


HEADERS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, bool]] = {
    "all of none": ({"x-match": "all"}, None, True),
    "any of none": ({"x-match": "any"}, {"a": 1}, False),
    "all of two": ({"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}, True),
    "one is missing": ({"a": 1, "b": 2}, {"a": 1}, False),
    "any of two": ({"x-match": "any", "a": 1, "b": 2}, {"b": 2}, True),
    "another width": ({"a": Field("b", 1)}, {"a": Field("l", 1)}, True),
    "a double is no integer": ({"a": 1}, {"a": 1.0}, False),
    "a text is no integer": ({"a": 1}, {"a": "1"}, False),
    "bytes are a text": ({"a": "x"}, {"a": b"x"}, True),
    "only there": ({"a": None}, {"a": "whatever"}, True),
}


@pytest.mark.parametrize("case", HEADERS)
def test_headers_match_by_value(client: RawClient, case: str, version: tuple[int, ...]) -> None:
    """With all or any of a binding's arguments."""
    wanted, given, matches = HEADERS[case]
    client.ask(queue())
    client.ask(exchange("e1", "headers"))
    client.ask(bind("e1", **wanted))
    client.publish(publish("", "e1", mandatory=True), properties=build_properties(given))
    if version < FOURTH and case == "a double is no integer":
        matches = True
    assert [isinstance(came, Came) for came in client.settle()] == ([] if matches else [True])


def test_a_message_reaches_a_queue_once(client: RawClient) -> None:
    """By two bindings, and by way of another exchange that leads back."""
    for name in ("q1", "q2"):
        client.ask(queue(name))
    client.ask(exchange("e1", "fanout"))
    client.ask(exchange("e2", "direct"))
    for key in ("a", "b"):
        client.ask(bind("e1", key))
    client.ask(bind_exchange("e1", "e2"))
    client.ask(bind_exchange("e2", "e1", "k"))
    client.ask(bind("e2", "k", to="q2"))
    client.ask(m.ConfirmSelect(False))
    client.publish(publish("k", "e1"))
    client.await_confirms(1)
    assert (bodies(client), bodies(client, "q2")) == ([b"m"], [b"m"])


def test_an_exchange_that_chooses_has_one_queue_for_each_message(
    client: RawClient, version: tuple[int, ...]
) -> None:
    """RabbitMQ has ``x-local-random`` since 4.0. It takes neither a routing key nor another exchange."""
    if version < FOURTH:
        pytest.skip("RabbitMQ before 4.0 has no such type")
    for name in ("q1", "q2", "q3"):
        client.ask(queue(name))
    client.ask(exchange("e1", "x-local-random"))
    for name in ("q1", "q2", "q3"):
        client.ask(bind("e1", to=name))
    client.ask(m.ConfirmSelect(False))
    for _ in range(60):
        client.publish(publish("", "e1"))
    client.await_confirms(60)
    found = [len(bodies(client, name)) for name in ("q1", "q2", "q3")]
    assert sum(found) == 60
    assert all(found)
    assert client.ask(bind("e1", "k")) == closed(
        406, "PRECONDITION_FAILED - Non empty binding 'k' key not permitted", (50, 20)
    )


def test_what_cannot_be_routed_goes_to_the_alternate_exchange(client: RawClient) -> None:
    """It keeps its exchange, and is not returned."""
    client.ask(queue())
    client.ask(exchange("e2", "fanout"))
    client.ask(bind("e2"))
    client.ask(exchange("e1", arguments={"alternate-exchange": "e2"}))
    client.publish(publish("k", "e1", mandatory=True))
    assert client.settle() == []
    came = client.ask(get())
    assert came.method == m.BasicGetOk(1, False, "e1", "k", 0)


def test_a_mandatory_message_for_no_queue_comes_back(client: RawClient) -> None:
    """With its properties, before its confirm."""
    client.ask(m.ConfirmSelect(False))
    client.publish(publish("nobody", mandatory=True), b"back", build_properties({"b": 1, "a": 2}, type="t"))
    returned, confirm = client.next(), client.next()
    assert returned.method == m.BasicReturn(312, "NO_ROUTE", "", "nobody")
    assert (returned.body, list(returned.headers), returned.properties.text("type")) == (
        b"back",
        ["a", "b"],
        "t",
    )
    assert confirm == m.BasicAck(1, False)


def test_confirms_cover_every_publish(client: RawClient) -> None:
    """However they are put together."""
    client.ask(queue(durable=True))
    client.ask(m.ConfirmSelect(False))
    for _ in range(50):
        client.publish(publish(), properties=build_properties(mode=2))
    assert client.await_confirms(50) == []
    assert client.settle() == []


REFUSED: dict[str, tuple[m.BasicPublish, bytes, Any]] = {
    "no exchange": (
        publish("k", "e1"),
        build_properties(),
        closed(404, "NOT_FOUND - no exchange 'e1' in vhost '/'", (60, 40)),
    ),
    "immediate": (
        publish(immediate=True),
        build_properties(),
        hung_up(540, "NOT_IMPLEMENTED - immediate=true", (60, 40)),
    ),
    "an expiration that is no number": (
        publish(),
        build_properties(expiration="abc"),
        closed(406, "PRECONDITION_FAILED - invalid expiration 'abc': no_integer", (60, 40)),
    ),
    "an empty expiration": (
        publish(),
        build_properties(expiration=""),
        closed(406, "PRECONDITION_FAILED - invalid expiration '': no_integer", (60, 40)),
    ),
    "a negative expiration": (
        publish(),
        build_properties(expiration="-1"),
        closed(406, "PRECONDITION_FAILED - invalid expiration '-1': {value_negative,-1}", (60, 40)),
    ),
    "a broken expiration": (
        publish(),
        build_properties(expiration="1.5"),
        closed(406, "PRECONDITION_FAILED - invalid expiration '1.5': {leftover_string,\".5\"}", (60, 40)),
    ),
    "somebody else": (
        publish(),
        build_properties(user_id="other"),
        closed(
            406,
            "PRECONDITION_FAILED - user_id property set to 'other' but authenticated user was 'guest'",
            (60, 40),
        ),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_may_not_be_published_is_refused(client: RawClient, case: str) -> None:
    """With the reason, on the channel or the connection."""
    asked, properties, expected = REFUSED[case]
    client.ask(queue())
    client.publish(asked, properties=properties)
    assert client.next() == expected


def test_an_internal_exchange_takes_no_publish(client: RawClient) -> None:
    """Only what other exchanges send it."""
    client.ask(exchange("e1", internal=True))
    client.publish(publish("k", "e1"))
    why = "ACCESS_REFUSED - cannot publish to internal exchange 'e1' in vhost '/'"
    assert client.next() == closed(403, why, (60, 40))


def test_further_routing_keys(client: RawClient) -> None:
    """CC is kept, BCC is not; both are delivered with the key of the publish."""
    for name in ("q1", "q2", "q3"):
        client.ask(queue(name))
    client.ask(m.ConfirmSelect(False))
    client.publish(publish("q1"), properties=build_properties({"CC": ["q2"], "BCC": ["q3"], "x": 1}))
    client.await_confirms(1)
    for name in ("q1", "q2", "q3"):
        came = client.ask(get(name, no_ack=True))
        assert came.method.routing_key == "q1"
        assert came.headers == {"CC": ["q2"], "x": 1}


def test_every_type_of_header_comes_back_as_it_was(client: RawClient, version: tuple[int, ...]) -> None:
    """With its own type; the keys sorted, those of nested tables as they were."""
    fields = {
        "t": Field("t", True),
        "b": Field("b", -1),
        "B": Field("B", 200),
        "s": Field("s", -2),
        "u": Field("u", 60_000),
        "I": Field("I", -3),
        "i": Field("i", 4_000_000_000),
        "l": Field("l", -(1 << 40)),
        "f": Field("f", 0.5),
        "d": Field("d", 0.1),
        "D": Field("D", (2, 314)),
        "T": Field("T", 1 << 40),
        "S": Field("S", b"\xff"),
        "x": Field("x", b"\0"),
        "F": Field("F", table({"z": 1, "a": 2})),
        "A": Field("A", [Field("V", None), Field("t", False)]),
        "V": Field("V", None),
    }
    client.ask(queue())
    client.ask(m.ConfirmSelect(False))
    client.publish(publish(), properties=build_properties(fields))
    client.await_confirms(1)
    headers = client.ask(get()).properties.headers()
    assert headers == fields
    assert list(headers["F"].value) == ["z", "a"]
    if version >= FOURTH:
        assert list(headers) == sorted(fields)


@pytest.mark.parametrize("size", [0, 1, 131_064, 131_065, 262_128, 262_129])
def test_a_body_is_cut_as_the_receiver_wants(connect: Callable[..., RawClient], size: int) -> None:
    """Whatever the sender sent."""
    client, small = connect(), connect(frame_max=8192)
    client.ask(queue())
    client.ask(m.ConfirmSelect(False))
    client.publish(publish(), b"x" * size)
    client.next()
    assert small.ask(get()).body == b"x" * size


def test_a_transaction_holds_publishes_and_acknowledgements(client: RawClient) -> None:
    """Until its commit; rolled back they were never made."""
    client.ask(queue())
    client.ask(m.TxSelect())
    client.publish(publish(), b"one")
    assert client.ask(get()) == m.BasicGetEmpty("")
    client.ask(m.TxCommit())
    assert client.ask(get()).body == b"one"
    client.say(m.BasicAck(1, False))
    client.publish(publish(), b"two")
    client.ask(m.TxRollback())
    client.say(m.BasicAck(1, False))
    client.publish(publish("nobody", mandatory=True))
    assert client.ask(m.TxCommit()).method == m.BasicReturn(312, "NO_ROUTE", "", "nobody")
    assert client.next() == m.TxCommitOk()
    assert client.ask(queue(passive=True)) == declared()
