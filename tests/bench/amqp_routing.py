"""AMQP: exchanges with many bindings, a fan-out, and how long single calls take, as ``amqp`` measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Final

from emulator.amqp.wire import methods
from emulator.amqp.wire.field_tables import Field, Table
from emulator.amqp.wire.properties import Properties
from emulator.clock import stopwatch
from tests.bench import amqp, amqp_driver
from tests.bench.amqp_driver import TRANSIENT, RawConnection
from tests.bench.rows import Row

MESSAGES: Final = 5_000
BINDINGS: Final = 1_000
QUEUES: Final = 100
CALLS: Final = 300
_QUEUE: Final = "bench"
_BODY: Final = bytes(range(12))


def measure(messages: int = MESSAGES, calls: int = CALLS, rounds: int = amqp.ROUNDS) -> Iterator[Row]:
    """The medians of some rounds, all taking turns."""
    with amqp.subjects() as urls:
        del urls[amqp.LIMIT]
        found = [
            row
            for _ in range(rounds)
            for name, url in urls.items()
            for row in (*_measure_exchanges(name, url, messages), *_measure_calls(name, url, calls))
        ]
    yield from amqp.medians(found)


def _measure_exchanges(subject: str, url: str, messages: int) -> Iterator[Row]:
    """Publish to exchanges of which one binding matches, and to one that puts copies into many queues."""
    header = Properties()
    header.set_headers({"n": Field("I", BINDINGS // 2)})
    for type_, key, properties in (
        ("topic", f"a.{BINDINGS // 2}.c", TRANSIENT),
        ("headers", "", header.encode()),
    ):
        with RawConnection(url) as connection:
            _declare(connection, _QUEUE)
            _declare_exchange(connection, type_)
            for number in range(BINDINGS):
                _bind(connection, _QUEUE, type_, f"a.{number}.*", {"n": Field("I", number)})
            yield Row(
                f"AMQP publish to {type_} exchange with {BINDINGS:,} bindings",
                subject,
                _publish(connection, type_, key, properties, messages),
                "messages/s",
                "more",
            )
            _delete(connection, [_QUEUE], type_)
    with RawConnection(url) as connection:
        queues = [f"{_QUEUE}-{number}" for number in range(QUEUES)]
        _declare_exchange(connection, "fanout")
        for queue in queues:
            _declare(connection, queue)
            _bind(connection, queue, "fanout", "", {})
        rate = _publish(connection, "fanout", "", TRANSIENT, max(1, messages // QUEUES * 5))
        yield Row(f"AMQP fan-out to {QUEUES} queues, copies", subject, rate * QUEUES, "messages/s", "more")
        _delete(connection, queues, "fanout")


def _measure_calls(subject: str, url: str, calls: int) -> Iterator[Row]:
    with RawConnection(url) as connection:
        queues = [f"{_QUEUE}-{number}" for number in range(calls)]
        _declare_exchange(connection, "direct")
        took: dict[str, list[float]] = {
            "declare": [_time(partial(_declare, connection, queue)) for queue in queues],
            "bind": [_time(partial(_bind, connection, queue, "direct", queue, {})) for queue in queues],
        }
        rendered = amqp_driver.render_publish("", _QUEUE + "-0", TRANSIENT, _BODY)
        amqp_driver.publish([connection], [rendered], calls)
        get = partial(connection.ask, methods.BasicGet(0, _QUEUE + "-0", True), methods.BasicGetOk)
        took["get"] = [_time(get) for _ in queues]
        for call, each in took.items():
            yield Row(f"AMQP {call}, p50", subject, median(each) * 1e3, "ms")
        _delete(connection, queues, "direct")


def _time(call: Callable[[], object]) -> float:
    began = stopwatch()
    call()
    return stopwatch() - began


def _publish(connection: RawConnection, exchange: str, key: str, properties: bytes, messages: int) -> float:
    """Messages a second."""
    rendered = amqp_driver.render_publish(_name(exchange), key, properties, _BODY)
    return messages / amqp_driver.publish([connection], [rendered], messages)


def _declare(connection: RawConnection, queue: str) -> None:
    asked = methods.QueueDeclare(0, queue, False, False, False, False, False, {})
    connection.ask(asked, methods.QueueDeclareOk)


def _declare_exchange(connection: RawConnection, type_: str) -> None:
    asked = methods.ExchangeDeclare(0, _name(type_), type_, False, False, False, False, False, {})
    connection.ask(asked, methods.ExchangeDeclareOk)


def _bind(connection: RawConnection, queue: str, type_: str, key: str, arguments: Table) -> None:
    asked = methods.QueueBind(0, queue, _name(type_), key, False, arguments)
    connection.ask(asked, methods.QueueBindOk)


def _delete(connection: RawConnection, queues: list[str], type_: str) -> None:
    for queue in queues:
        connection.ask(methods.QueueDelete(0, queue, False, False, False), methods.QueueDeleteOk)
    connection.ask(methods.ExchangeDelete(0, _name(type_), False, False), methods.ExchangeDeleteOk)


def _name(type_: str) -> str:
    return f"bench-{type_}"
