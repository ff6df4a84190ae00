"""The management API of our own broker: what clients of RabbitMQ's plugin read, and who may read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pika
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings

SETTINGS = Settings(aws_port=0, control_port=0, amqp_port=0, data_dir=None, amqp="embedded")
ARGUMENTS = {"x-max-priority": 3, "x-dead-letter-exchange": ""}


@pytest.fixture(scope="module")
def emulator() -> Iterator[Embedded]:
    """A broker with a queue of five messages, one of which is out with a client, and three bindings."""
    with embedded(SETTINGS) as running:
        assert running.broker.url is not None
        connection = pika.BlockingConnection(pika.URLParameters(running.broker.url))
        channel = connection.channel()
        channel.confirm_delivery()
        channel.queue_declare("a/b", durable=True, arguments=ARGUMENTS)
        channel.exchange_declare("logs", "topic")
        channel.queue_bind("a/b", "logs", "k.#")
        channel.queue_bind("a/b", "logs", "k.#", arguments={"more": 1})
        channel.exchange_bind("logs", "amq.fanout")
        for _ in range(5):
            channel.basic_publish("", "a/b", b"hello")
        assert channel.basic_get("a/b")[0] is not None
        yield running
        connection.close()


def ask(emulator: Embedded, path: str, login: tuple[str, str] | None = ("guest", "guest")) -> httpx.Response:
    return httpx.get(f"{emulator.amqp_management}/api/{path}", auth=login, trust_env=False, timeout=30)


def read(emulator: Embedded, path: str) -> Any:
    answer = ask(emulator, path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_overview_names_the_version_and_counts(emulator: Embedded) -> None:
    """Clients refuse a broker without ``rabbitmq_version``."""
    found = read(emulator, "overview")
    assert (found["product_name"], found["rabbitmq_version"]) == ("RabbitMQ", "4.0.5")
    totals = found["queue_totals"]
    assert [totals[name] for name in ("messages", "messages_ready", "messages_unacknowledged")] == [5, 4, 1]
    assert found["object_totals"] == {
        "channels": 1,
        "connections": 1,
        "consumers": 0,
        "exchanges": 8,
        "queues": 1,
    }
    assert str(found["listeners"][0]["port"]) in emulator.broker.url


def test_a_queue_has_the_fields_that_clients_read(emulator: Embedded) -> None:
    """The slash of the virtual host and of the name are quoted in the path; counts are of this moment."""
    wanted = {
        "name": "a/b",
        "vhost": "/",
        "type": "classic",
        "durable": True,
        "auto_delete": False,
        "exclusive": False,
        "arguments": ARGUMENTS,
        "node": "rabbit@localhost",
        "state": "running",
        "consumers": 0,
        "messages": 5,
        "messages_ready": 4,
        "messages_unacknowledged": 1,
        "policy": None,
    }
    for found in (
        *read(emulator, "queues"),
        *read(emulator, "queues/%2F"),
        read(emulator, "queues/%2F/a%2Fb"),
    ):
        assert wanted.items() <= found.items()


def test_queues_come_by_pages_and_columns(emulator: Embedded) -> None:
    assert read(emulator, "queues?page=1&page_size=5&columns=name") == {
        "filtered_count": 1,
        "item_count": 1,
        "items": [{"name": "a/b"}],
        "page": 1,
        "page_count": 1,
        "page_size": 5,
        "total_count": 1,
    }
    assert ask(emulator, "queues?page=7").status_code == ask(emulator, "queues?page=x").status_code == 400


def test_exchanges_are_listed_with_those_that_are_always_there(emulator: Embedded) -> None:
    named = {each["name"]: each for each in read(emulator, "exchanges/%2F")}
    assert {"", "amq.direct", "amq.topic", "logs"} <= named.keys()
    assert named["logs"] == read(emulator, "exchanges/%2F/logs")
    assert (named["logs"]["type"], named["logs"]["durable"]) == ("topic", False)
    assert read(emulator, "exchanges/%2F/amq.default")["name"] == ""


def test_bindings_are_told_apart_by_their_properties_key(emulator: Embedded) -> None:
    """Each queue is bound to the default exchange; a binding with arguments has a hash in its key."""
    between = read(emulator, "bindings/%2F/e/logs/q/a%2Fb")
    assert [(each["routing_key"], each["arguments"]) for each in between] == [
        ("k.#", {}),
        ("k.#", {"more": 1}),
    ]
    plain, hashed = (each["properties_key"] for each in between)
    assert plain == "k.%23"
    assert hashed.startswith("k.%23~")
    of_queue = read(emulator, "queues/%2F/a%2Fb/bindings")
    assert [each["source"] for each in of_queue] == ["", "logs", "logs"]
    assert read(emulator, "exchanges/%2F/logs/bindings/source") == between
    (to_exchange,) = read(emulator, "bindings/%2F/e/amq.fanout/e/logs")
    assert (to_exchange["destination_type"], to_exchange["properties_key"]) == ("exchange", "~")
    assert len(read(emulator, "bindings")) == 4


def test_health_is_told_and_what_does_not_listen(emulator: Embedded) -> None:
    port = emulator.broker.url.rpartition(":")[2].partition("/")[0]
    for path in (
        "alarms",
        "local-alarms",
        "virtual-hosts",
        "protocol-listener/amqp",
        f"port-listener/{port}",
    ):
        assert read(emulator, f"health/checks/{path}")["status"] == "ok"
    assert read(emulator, "healthchecks/node") == read(emulator, "aliveness-test/%2F") == {"status": "ok"}
    missing = ask(emulator, "health/checks/port-listener/1")
    assert (missing.status_code, missing.json()["reason"]) == (503, "No active listener")


@pytest.mark.parametrize("path", ["queues/%2F/none", "queues/other", "exchanges/%2F/none", "nothing"])
def test_what_is_not_there_is_404_in_rabbitmqs_words(emulator: Embedded, path: str) -> None:
    answer = ask(emulator, path)
    assert (answer.status_code, answer.json()) == (
        404,
        {"error": "Object Not Found", "reason": "Not Found"},
    )


def test_guest_reads_and_nobody_else(emulator: Embedded) -> None:
    """Without a login the answer is empty, as RabbitMQ's; a page of another site gets nothing at all."""
    none, wrong = ask(emulator, "overview", None), ask(emulator, "overview", ("guest", "wrong"))
    assert (none.status_code, none.content) == (401, b"")
    assert (wrong.status_code, wrong.json()["error"]) == (401, "not_authorized")
    url = f"{emulator.amqp_management}/api/overview"
    foreign = httpx.get(
        url, auth=("guest", "guest"), headers={"origin": "http://evil.example"}, trust_env=False
    )
    assert (foreign.status_code, foreign.content) == (403, b"")


def test_a_token_is_the_password_of_any_user() -> None:
    with embedded(replace(SETTINGS, token="secret")) as running:
        assert ask(running, "whoami", ("anybody", "secret")).status_code == 200
        assert ask(running, "whoami", ("guest", "guest")).status_code == 401


def test_there_is_none_without_our_broker() -> None:
    with embedded(replace(SETTINGS, amqp="none")) as running:
        assert running.amqp_management is running.status().amqp_management is None
