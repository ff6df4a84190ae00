"""The management API at work: connections, and what is published, taken, purged and declared by it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker, ConnectionClosedByBroker

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings

SETTINGS = Settings(aws_port=0, control_port=0, amqp_port=0, data_dir=None, amqp="embedded")
PUBLISH = "exchanges/%2F/amq.default/publish"
GET = {"count": 5, "ackmode": "ack_requeue_false", "encoding": "auto"}


@pytest.fixture(scope="module")
def emulator() -> Iterator[Embedded]:
    with embedded(SETTINGS) as running:
        yield running


@pytest.fixture
def channel(emulator: Embedded) -> Iterator[BlockingChannel]:
    """A channel of a client that calls itself tester, with an empty queue ``q``."""
    parameters = pika.URLParameters(emulator.broker.url)
    parameters.client_properties = {"connection_name": "tester"}
    connection = pika.BlockingConnection(parameters)
    opened = connection.channel()
    opened.queue_delete("q")
    opened.queue_declare("q")
    yield opened
    if connection.is_open:
        connection.close()


def call(emulator: Embedded, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
    url = f"{emulator.urls['amqp_management']}/api/{path}"
    return httpx.request(method, url, json=body, auth=("guest", "guest"), trust_env=False, timeout=30, **more)


def ask(emulator: Embedded, method: str, path: str, body: Any = None) -> Any:
    answer = call(emulator, method, path, body)
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


def message(payload: str, key: str = "q", **more: Any) -> dict[str, Any]:
    given = {"routing_key": key, "payload": payload, "payload_encoding": "string", "properties": {}}
    return given | more


def own_connection(emulator: Embedded) -> dict[str, Any]:
    """The one connection of the test's client."""
    (found,) = (
        each
        for each in ask(emulator, "GET", "connections/")
        if each["client_properties"].get("connection_name") == "tester"
    )
    return dict(found)


def test_a_connection_is_listed_with_its_channels_and_consumers(
    emulator: Embedded, channel: BlockingChannel
) -> None:
    """Named as RabbitMQ names it, by both ends of its socket."""
    channel.basic_qos(prefetch_count=3)
    channel.confirm_delivery()
    channel.basic_consume("q", lambda *_: None, consumer_tag="t")
    found = own_connection(emulator)
    peer, own = f"127.0.0.1:{found['peer_port']}", f"127.0.0.1:{found['port']}"
    assert found["name"] == f"{peer} -> {own}"
    assert str(found["port"]) in emulator.broker.url
    wanted = {"state": "running", "user": "guest", "vhost": "/", "channels": 1, "protocol": "AMQP 0-9-1"}
    assert wanted.items() <= found.items()
    assert (found["user_provided_name"], found["auth_mechanism"], found["ssl"]) == ("tester", "PLAIN", False)
    place = f"connections/{quote(found['name'], safe='')}"
    assert ask(emulator, "GET", place) == found
    (listed,) = ask(emulator, "GET", f"{place}/channels")
    assert listed["name"] == f"{found['name']} (1)"
    wanted = {"number": 1, "consumer_count": 1, "prefetch_count": 3, "confirm": True, "transactional": False}
    assert wanted.items() <= listed.items()
    assert listed in ask(emulator, "GET", "channels")
    shown = ask(emulator, "GET", f"channels/{quote(listed['name'], safe='')}")
    (consumer,) = ask(emulator, "GET", "consumers/%2F")
    assert shown["consumer_details"] == [consumer]
    assert (consumer["consumer_tag"], consumer["active"], consumer["ack_required"]) == ("t", True, True)
    assert consumer["queue"] == {"name": "q", "vhost": "/"}
    assert consumer["channel_details"]["connection_name"] == found["name"]


@pytest.mark.parametrize(
    ("headers", "why"),
    [({}, "Closed via management plugin"), ({"X-Reason": "an exercise"}, "an exercise")],
)
def test_a_connection_is_closed_by_its_name(
    emulator: Embedded, channel: BlockingChannel, headers: dict[str, str], why: str
) -> None:
    """Its client gets CONNECTION_FORCED with the reason, as people test that it reconnects."""
    path = f"connections/{quote(own_connection(emulator)['name'], safe='')}"
    assert call(emulator, "DELETE", path, headers=headers).status_code == 204
    with pytest.raises(ConnectionClosedByBroker) as closed:
        channel.queue_declare("q", passive=True)
    assert closed.value.args == (320, f"CONNECTION_FORCED - {why}")
    assert call(emulator, "DELETE", path).status_code == 404


def test_a_message_is_published_and_taken(emulator: Embedded, channel: BlockingChannel) -> None:
    """By HTTP alone, and between HTTP and AMQP; the message is on record as any other."""
    assert ask(emulator, "POST", PUBLISH, message("héllo")) == {"routed": True}
    assert ask(emulator, "POST", PUBLISH, message("lost", "nowhere")) == {"routed": False}
    properties = {
        "delivery_mode": 2,
        "priority": 3,
        "message_id": "m",
        "headers": {"a": 1, "b": [{"c": True}]},
    }
    binary = message("AAH/", properties=properties, payload_encoding="base64")
    assert ask(emulator, "POST", PUBLISH, binary) == {"routed": True}
    method, _, body = channel.basic_get("q")
    assert (body.decode(), method.routing_key) == ("héllo", "q")
    channel.basic_nack(method.delivery_tag)
    first, second = ask(emulator, "POST", "queues/%2F/q/get", GET)
    assert (first["payload"], first["payload_encoding"], first["redelivered"]) == ("héllo", "string", True)
    assert (first["payload_bytes"], first["message_count"], first["properties"]) == (6, 1, [])
    assert (second["payload"], second["payload_encoding"], second["redelivered"]) == (
        *("AAH/", "base64"),
        False,
    )
    assert second["properties"] == properties
    assert ask(emulator, "POST", "queues/%2F/q/get", GET) == []
    log = emulator.components.amqp
    (stream,) = (view for scope in log.scopes() for view in log.streams(scope) if view.name == "amqp:q")
    shard = stream.shards[0]
    bodies = [record.data for record in log.read("amqp:q", shard.id, None, 1000)]
    assert "héllo".encode() in bodies


@pytest.mark.parametrize(
    ("mode", "left"),
    [
        *(("ack_requeue_true", 2), ("reject_requeue_true", 2)),
        *(("ack_requeue_false", 0), ("reject_requeue_false", 0)),
    ],
)
def test_what_is_taken_goes_back_or_not(
    emulator: Embedded, channel: BlockingChannel, mode: str, left: int
) -> None:
    """As the mode says; two at once are two messages, and they keep their order."""
    for body in (b"one", b"two"):
        channel.basic_publish("", "q", body)
    assert channel.queue_declare("q", passive=True).method.message_count == 2
    asked = GET | {"ackmode": mode, "truncate": 1}
    assert [each["payload"] for each in ask(emulator, "POST", "queues/%2F/q/get", asked)] == ["o", "t"]
    assert channel.queue_declare("q", passive=True).method.message_count == left


def test_what_is_rejected_is_dead_lettered(emulator: Embedded, channel: BlockingChannel) -> None:
    channel.queue_delete("dying")
    channel.queue_declare("dying", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q"})
    ask(emulator, "POST", PUBLISH, message("x", "dying"))
    ask(emulator, "POST", "queues/%2F/dying/get", GET | {"ackmode": "reject_requeue_false"})
    (letter,) = ask(emulator, "POST", "queues/%2F/q/get", GET)
    assert letter["properties"]["headers"]["x-death"][0]["reason"] == "rejected"


def test_a_queue_is_purged(emulator: Embedded, channel: BlockingChannel) -> None:
    ask(emulator, "POST", PUBLISH, message("x"))
    ask(emulator, "DELETE", "queues/%2F/q/contents")
    assert channel.queue_declare("q", passive=True).method.message_count == 0


def test_queues_exchanges_and_bindings_are_declared_and_deleted(
    emulator: Embedded, channel: BlockingChannel
) -> None:
    """201 for what is new, 204 for what is there; a binding has its place in ``location``."""
    given = {"durable": True, "arguments": {"x-max-length": 3}}
    assert [call(emulator, "PUT", "queues/%2F/new", given).status_code for _ in range(2)] == [201, 204]
    assert call(emulator, "PUT", "exchanges/%2F/new", {"type": "topic", "arguments": []}).status_code == 201
    bound = call(
        emulator, "POST", "bindings/%2F/e/new/q/new", {"routing_key": "a b.#", "arguments": {"x": 1}}
    )
    assert bound.status_code == 201
    place = f"bindings/%2F/e/new/q/{bound.headers['location']}"
    assert ask(emulator, "GET", place)["routing_key"] == "a b.#"
    assert ask(emulator, "POST", "exchanges/%2F/new/publish", message("x", "a b.c")) == {"routed": True}
    ask(emulator, "DELETE", place)
    assert ask(emulator, "POST", "exchanges/%2F/new/publish", message("x", "a b.c")) == {"routed": False}
    unused = call(emulator, "DELETE", "queues/%2F/new?if-empty=true")
    assert (unused.status_code, unused.json()["reason"]) == (400, "queue 'new' in vhost '/' not empty")
    for path in ("queues/%2F/new", "exchanges/%2F/new"):
        assert [call(emulator, "DELETE", path).status_code for _ in range(2)] == [204, 404]


def keys(*names: str) -> str:
    return "[" + ",".join(f"{{key_missing,{name}}}" for name in names) + "]"


REFUSALS: dict[str, tuple[str, str, Any, int, Any]] = {
    "no fields": (
        "POST",
        PUBLISH,
        {"properties": {}},
        400,
        keys("routing_key", "payload", "payload_encoding"),
    ),
    "encoding": ("POST", PUBLISH, message("x", payload_encoding="zip"), 400, ["unsupported_encoding", "zip"]),
    "base64": ("POST", PUBLISH, message("!!", payload_encoding="base64"), 400, ["not_base64", "!!"]),
    "number": ("POST", PUBLISH, message("x", properties={"priority": "x"}), 400, ["not_int", "priority"]),
    "null": ("POST", PUBLISH, message("x", properties={"headers": {"a": None}}), 400, "null_not_allowed"),
    "no exchange": (
        *("POST", "exchanges/%2F/none/publish", message("x"), 400),
        "404 NOT_FOUND - no exchange 'none' in vhost '/'",
    ),
    "modes": ("POST", "queues/%2F/q/get", {"count": 1}, 400, keys("ackmode", "encoding")),
    "count": ("POST", "queues/%2F/q/get", GET | {"count": "x"}, 400, ["not_integer", "x"]),
    "other queue": (
        *("PUT", "queues/%2F/q", {"durable": True}, 400),
        "inequivalent arg 'durable' for queue 'q' in vhost '/': received 'true' but current is 'false'",
    ),
    "reserved": ("PUT", "queues/%2F/amq.x", {}, 401, "Access refused."),
    "system exchange": ("DELETE", "exchanges/%2F/amq.direct", None, 401, "Access refused."),
    "boolean": ("PUT", "queues/%2F/n", {"durable": "zzz"}, 400, ["not_boolean", "zzz"]),
    "no source": (
        *("POST", "bindings/%2F/e/none/q/q", {"routing_key": "k"}, 404),
        "no exchange 'none' in vhost '/'",
    ),
    "a list": ("PUT", "queues/%2F/n", [], 400, "not_json"),
    "long key": ("POST", PUBLISH, message("x", "k" * 256), 400, ["not_string", "routing_key"]),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_is_rabbitmqs(emulator: Embedded, channel: BlockingChannel, case: str) -> None:
    """The status and the reason are those that RabbitMQ 3.10 gave to the same."""
    method, path, body, status, reason = REFUSALS[case]
    answer = call(emulator, method, path, body)
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)
    assert channel.queue_declare("q", passive=True).method.message_count == 0


@pytest.mark.parametrize(
    ("most", "size", "taken"),
    [(None, 16 << 20, True), (None, (16 << 20) + 1, False), (20 << 20, 20 << 20, True)],
)
def test_the_largest_message_is_a_setting(tmp_path: Path, most: int | None, size: int, taken: bool) -> None:
    """16 MiB as in RabbitMQ 4.0 where nothing is set; what is taken is there after a restart."""
    settings = replace(SETTINGS, data_dir=tmp_path)
    if most is not None:
        settings = replace(settings, amqp_max_message_size=most)
    with embedded(settings) as running:
        client = pika.BlockingConnection(pika.URLParameters(running.broker.url))
        channel = client.channel()
        channel.queue_declare("large", durable=True)
        channel.confirm_delivery()
        send = partial(channel.basic_publish, "", "large", bytes(size), pika.BasicProperties(delivery_mode=2))
        if not taken:
            with pytest.raises(ChannelClosedByBroker) as refused:
                send()
            why = f"PRECONDITION_FAILED - message size {size} is larger than configured max size {16 << 20}"
            assert refused.value.args == (406, why)
            client.close()
            return
        send()
        client.close()
    with embedded(settings) as running:
        client = pika.BlockingConnection(pika.URLParameters(running.broker.url))
        assert len(client.channel().basic_get("large", auto_ack=True)[2]) == size
        client.close()
