"""The management API of our own broker: what clients of RabbitMQ's plugin read, and who may read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pika
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.listeners.amqp_management import AmqpManagement
from emulator.settings.settings import Settings

SETTINGS = Settings(aws_port=0, control_port=0, amqp_port=0, data_dir=None, amqp="embedded")
ARGUMENTS = {"x-max-priority": 3, "x-dead-letter-exchange": ""}
NESTED = {"x-priority": 2, "more": {"list": ["a", 1, {"b": None}]}}


def nothing(*_: object) -> None:
    """Take a delivery."""


@pytest.fixture(scope="module")
def emulator() -> Iterator[Embedded]:
    """A broker with three queues.

    ``a/b`` has five messages, one of which is out with a client, and three bindings. ``Active`` and ``alone``
    have a consumer, of which one is the single active one and the other an exclusive one.
    """
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
        channel.queue_declare("Active", durable=True, arguments={"x-single-active-consumer": True})
        channel.queue_declare("alone", exclusive=True, auto_delete=True)
        channel.basic_consume("Active", nothing, auto_ack=True, consumer_tag="only")
        channel.basic_qos(prefetch_count=7)
        channel.basic_consume("alone", nothing, exclusive=True, consumer_tag="mine", arguments=NESTED)
        yield running
        connection.close()


def ask(emulator: Embedded, path: str, login: tuple[str, str] | None = ("guest", "guest")) -> httpx.Response:
    return httpx.get(
        f"{emulator.urls['amqp_management']}/api/{path}", auth=login, trust_env=False, timeout=30
    )


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
        "consumers": 2,
        "exchanges": 8,
        "queues": 3,
    }
    (listener,) = found["listeners"]
    assert f"@{listener['ip_address']}:{listener['port']}/" in emulator.broker.url
    assert listener["protocol"] == "amqp"
    types = {each["name"] for each in found["exchange_types"] if each["enabled"]}
    assert types == {"direct", "fanout", "topic", "headers", "x-local-random"}


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
        *(
            each
            for path in ("queues", "queues/%2F")
            for each in read(emulator, path)
            if each["name"] == "a/b"
        ),
        read(emulator, "queues/%2F/a%2Fb"),
    ):
        assert wanted.items() <= found.items()
        assert found["message_bytes_ready"] == 4 * len(b"hello")


def test_a_queue_names_its_consumers(emulator: Embedded) -> None:
    """Their tags and arguments, and which of them has the queue for itself, or is the active one."""
    active, alone = read(emulator, "queues/%2F/Active"), read(emulator, "queues/%2F/alone")
    assert (active["single_active_consumer_tag"], active["exclusive_consumer_tag"]) == ("only", None)
    assert (alone["single_active_consumer_tag"], alone["exclusive_consumer_tag"]) == (None, "mine")
    assert (alone["exclusive"], alone["auto_delete"], alone["durable"], alone["consumers"]) == (
        *(True, True, False),
        1,
    )
    (first,), (second,) = active["consumer_details"], alone["consumer_details"]
    names = ("consumer_tag", "ack_required", "exclusive", "prefetch_count", "arguments")
    assert [first[name] for name in names] == ["only", False, False, 0, {}]
    assert [second[name] for name in names] == ["mine", True, True, 7, NESTED]
    assert second["queue"] == {"name": "alone", "vhost": "/"}


def named(emulator: Embedded, query: str) -> list[str]:
    found = read(emulator, f"queues?columns=name&{query}")
    return [each["name"] for each in (found["items"] if "page" in query else found)]


def test_queues_come_by_pages_and_columns(emulator: Embedded) -> None:
    assert read(emulator, "queues?page=2&page_size=2&columns=name") == {
        "filtered_count": 3,
        "item_count": 1,
        "items": [{"name": "alone"}],
        "page": 2,
        "page_count": 2,
        "page_size": 2,
        "total_count": 3,
    }
    none = read(emulator, "queues?page=1&name=none")
    assert [none[name] for name in ("filtered_count", "page_count", "total_count", "page_size")] == [
        0,
        0,
        3,
        100,
    ]
    columns = "name.beyond,messages_details.rate,messages_details.none,arguments.x-max-priority"
    assert read(emulator, f"queues/%2F/a%2Fb?columns={columns}") == {
        "name": "a/b",
        "messages_details": {"rate": 0.0},
        "arguments": {"x-max-priority": 3},
    }
    assert read(emulator, "queues/%2F/a%2Fb?columns=arguments") == {"arguments": ARGUMENTS}
    columns = "effective_policy_definition,arguments.none"
    assert read(emulator, f"queues/%2F/a%2Fb?columns={columns}") == {"effective_policy_definition": {}}


def test_lists_are_sorted_and_filtered_as_rabbitmq_does(emulator: Embedded) -> None:
    """By name where nothing is given; a name is sought anywhere and in any case, as a text or a pattern."""
    assert named(emulator, "") == ["Active", "a/b", "alone"]
    assert named(emulator, "sort_reverse=true") == ["alone", "a/b", "Active"]
    assert named(emulator, "sort=messages") == ["Active", "alone", "a/b"]
    assert named(emulator, "sort=auto_delete&sort_reverse=true") == ["alone", "a/b", "Active"]
    assert named(emulator, "sort=messages_details.rate") == named(emulator, "sort=x") == named(emulator, "")
    assert named(emulator, "page=1&name=A") == ["Active", "a/b", "alone"]
    assert named(emulator, "page=1&name=aL") == ["alone"]
    assert named(emulator, "page=1&name=^A.[bO]&use_regex=true") == ["a/b", "alone"]
    assert named(emulator, "page=1&name=^a.[bo]") == []
    exchanges = [each["name"] for each in read(emulator, "exchanges?sort_reverse=true")]
    assert exchanges == sorted(exchanges, reverse=True)


@pytest.mark.parametrize(
    ("query", "error", "reason"),
    [
        ("page=7", "page_out_of_range", "Page out of range, page: 7 page size: 100, len: 3"),
        ("page=x", "bad_request", "Pagination parameters are invalid"),
        ("page=1&page_size=x", "bad_request", "Pagination parameters are invalid"),
        ("page=1&name=[&use_regex=true", "bad_request", "Pagination parameters are invalid"),
        (
            "page=0",
            "invalid_pagination_parameters",
            "Invalid pagination parameters: page number 0, page size undefined",
        ),
        (
            "page=1&page_size=501",
            "invalid_pagination_parameters",
            "Invalid pagination parameters: page number 1, page size 501",
        ),
    ],
)
def test_a_page_that_is_not_there_is_refused(emulator: Embedded, query: str, error: str, reason: str) -> None:
    answer = ask(emulator, f"queues?{query}")
    assert (answer.status_code, answer.json()) == (400, {"error": error, "reason": reason})


def test_exchanges_are_listed_with_those_that_are_always_there(emulator: Embedded) -> None:
    by_name = {each["name"]: each for each in read(emulator, "exchanges/%2F")}
    assert by_name.keys() == {
        *("", "amq.direct", "amq.fanout", "amq.headers", "amq.match", "amq.rabbitmq.trace", "amq.topic"),
        "logs",
    }
    assert by_name["logs"] == read(emulator, "exchanges/%2F/logs")
    fields = ("type", "durable", "auto_delete", "internal", "vhost", "arguments")
    assert [by_name["logs"][field] for field in fields] == ["topic", False, False, False, "/", {}]
    assert [by_name["amq.rabbitmq.trace"][field] for field in fields] == ["topic", True, False, True, "/", {}]
    assert read(emulator, "exchanges/%2F/amq.default")["name"] == ""
    assert read(emulator, "exchanges") == list(by_name.values())


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
    assert read(emulator, "exchanges/%2F/logs/bindings/destination") == [to_exchange]
    assert len(read(emulator, "bindings")) == len(read(emulator, "bindings/%2F")) == 6
    (to_queue,) = read(emulator, "bindings/%2F/e/amq.default/q/alone")
    assert (to_queue["source"], to_queue["destination"], to_queue["routing_key"]) == ("", "alone", "alone")
    assert read(emulator, "bindings/%2F/e/none/q/none") == read(emulator, "bindings/%2F/e/logs/e/none") == []


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
    failed = {"status": "failed", "reason": "No active listener"}
    assert (missing.status_code, missing.json()) == (503, {**failed, "missing": 1, "ports": [int(port)]})
    missing = ask(emulator, "health/checks/protocol-listener/mqtt")
    assert (missing.status_code, missing.json()) == (
        503,
        {**failed, "missing": "mqtt", "protocols": ["amqp"]},
    )
    for wrong in ("x", "9" * 5000):
        answer = ask(emulator, f"health/checks/port-listener/{wrong}")
        assert (answer.status_code, answer.json()["reason"]) == (400, "Invalid port")


def test_a_slash_at_the_end_changes_nothing(emulator: Embedded) -> None:
    """Clients write ``healthchecks/node/`` and ``queues/``; a quoted slash is part of a name."""
    for path in ("queues", "overview", "healthchecks/node", "exchanges/%2F", "queues/%2F/a%2Fb"):
        assert read(emulator, f"{path}/") == read(emulator, path)
    assert ask(emulator, "queues/%2F/alone%2F").status_code == 404


def test_who_and_where_it_is(emulator: Embedded) -> None:
    """One user, one virtual host, one node."""
    who = read(emulator, "whoami")
    assert (who["name"], who["tags"]) == ("guest", ["administrator"])
    assert (
        [each["name"] for each in read(emulator, "vhosts")] == [read(emulator, "vhosts/%2F")["name"]] == ["/"]
    )
    assert [(each["name"], each["running"]) for each in read(emulator, "nodes")] == [
        ("rabbit@localhost", True)
    ]
    assert read(emulator, "healthchecks/node/rabbit@localhost") == {"status": "ok"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(
            ("PUT", "users/other"),
            ("PUT", "policies/%2F/other"),
            ("POST", "definitions"),
            ("POST", "overview"),
        ),
        *(("PUT", "vhosts/other"), ("DELETE", "permissions/%2F/guest"), ("PUT", "parameters/shovel/%2F/x")),
        *(("GET", "queues/%2F/a%2Fb/get"), ("GET", "exchanges/%2F/logs/publish"), ("PUT", "connections/x")),
    ],
)
def test_a_method_that_is_not_there_is_405(emulator: Embedded, method: str, path: str) -> None:
    """With the methods that are, wherever RabbitMQ has the path."""
    url = f"{emulator.urls['amqp_management']}/api/{path}"
    answer = httpx.request(method, url, auth=("guest", "guest"), trust_env=False)
    assert answer.status_code == 405
    allowed = answer.headers["allow"].split(", ")
    assert allowed
    assert method not in allowed


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE"])
def test_a_path_that_rabbitmq_has_by_a_plugin_is_404(emulator: Embedded, method: str) -> None:
    url = f"{emulator.urls['amqp_management']}/api/shovels/%2F/x"
    assert httpx.request(method, url, auth=("guest", "guest"), trust_env=False).status_code == 404


def test_the_page_says_what_there_is(emulator: Embedded) -> None:
    """At the root and at /api, without a login."""
    for path in ("/", "/api", "/api/"):
        page = httpx.get(f"{emulator.urls['amqp_management']}{path}", trust_env=False)
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "<td>GET DELETE</td><td><code>/api/connections/{connection}</code></td>" in page.text


@pytest.mark.parametrize(
    "path",
    [
        *("queues/%2F/none", "queues/other", "exchanges/%2F/none", "nothing", "vhosts/other"),
        *("queues/%2F/none/bindings", "exchanges/%2F/none/bindings/source", "bindings/other"),
        *("healthchecks/node/other", "aliveness-test/other", "exchanges/%2F/none/bindings/destination"),
        *("connections/none", "channels/none", "consumers/other", "users/other", "policies/%2F/none"),
        *("bindings/%2F/e/logs/q/a%2Fb/none", "connections/none/channels", "vhosts/other/connections"),
    ],
)
def test_what_is_not_there_is_404_in_rabbitmqs_words(emulator: Embedded, path: str) -> None:
    answer = ask(emulator, path)
    assert (answer.status_code, answer.json()) == (
        404,
        {"error": "Object Not Found", "reason": "Not Found"},
    )


def test_guest_reads_and_nobody_else(emulator: Embedded) -> None:
    """Without a login the answer is empty, as RabbitMQ's; a page of another site gets nothing at all."""
    none, wrong = ask(emulator, "overview", None), ask(emulator, "overview", ("guest", "wrong"))
    assert ask(emulator, "overview", ("other", "guest")).status_code == 401
    assert none.headers["www-authenticate"] == 'Basic realm="RabbitMQ Management"'
    assert (none.status_code, none.content) == (401, b"")
    assert (wrong.status_code, wrong.json()["error"]) == (401, "not_authorized")
    url = f"{emulator.urls['amqp_management']}/api/overview"
    foreign = httpx.get(
        url, auth=("guest", "guest"), headers={"origin": "http://evil.example"}, trust_env=False
    )
    assert (foreign.status_code, foreign.content) == (403, b"")


def test_a_token_is_the_password_of_any_user() -> None:
    with embedded(replace(SETTINGS, token="secret")) as running:
        # A connection waits until the broker is loaded; this API says 503 until then.
        pika.BlockingConnection(pika.URLParameters(running.broker.url)).close()
        assert ask(running, "whoami", ("anybody", "secret")).status_code == 200
        assert ask(running, "whoami", ("guest", "guest")).status_code == 401


async def test_before_the_broker_is_loaded_it_says_so() -> None:
    """A client that is started together with the sandbox tries again."""
    application: Any = AmqpManagement(lambda: None, ("127.0.0.1", 5672))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application)) as client:
        answer = await client.get("http://localhost/api/overview", auth=("guest", "guest"))
    assert (answer.status_code, answer.json()["error"]) == (503, "service_unavailable")


def test_there_is_none_without_our_broker() -> None:
    with embedded(replace(SETTINGS, amqp="none")) as running:
        assert "amqp_management" not in running.urls
        assert running.status().amqp_management is None
