"""RabbitMQ or our own broker behind the relay, and pika in front of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from emulator.channels.memory import DEFAULT_SCOPE
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.relay.amqp.amqp_server import AmqpServer, serve_amqp
from emulator.rng import Chance, new_uuid
from emulator.streams.amqp_log import AmqpLog
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import NewFault
from tests.emulator.conftest import loop_on_a_thread
from tests.emulator.relay.amqp.embedded import listen, start_upstream, without_faults


@dataclass
class Relay:
    """A relay on real time, and the clients that a test opened through it."""

    server: AmqpServer
    fault_engine: FaultEngine
    events: Events
    log: AmqpLog
    direct_url: str
    queue: str = field(default_factory=lambda: f"input-{new_uuid()[:8]}")
    opened: list[pika.BlockingConnection] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.server.url

    def fault(self, type_: str, **fields: Any) -> str:
        return self.fault_engine.add(NewFault(type_, **fields)).name

    def injections(self) -> list[Event]:
        return [event for event in self.events.since(limit=100_000) if event.kind == "fault.injected"]

    def connection(self, url: str | None = None, **options: Any) -> pika.BlockingConnection:
        parameters = pika.URLParameters(url or self.url)
        parameters.socket_timeout = 10
        for name, value in options.items():
            setattr(parameters, name, value)
        self.opened.append(pika.BlockingConnection(parameters))
        return self.opened[-1]

    def channel(self, *, confirm: bool = False, declare: bool = True) -> BlockingChannel:
        """A channel through the relay; its queue is made."""
        channel = self.connection().channel()
        if declare:
            channel.queue_declare(self.queue, durable=True)
        if confirm:
            channel.confirm_delivery()
        return channel

    def direct(self) -> BlockingChannel:
        """A channel of the broker itself, past the relay."""
        return self.connection(self.direct_url).channel()

    def at_broker(self) -> list[bytes]:
        """What lies in the queue, taken out past the relay."""
        return drained(self.direct(), self.queue)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Our own broker has no streams: tests/emulator/amqp holds what it says to that."""
    left_out = [item for item in items if _params(item) == ("embedded", "stream")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _params(item: pytest.Item) -> tuple[object, object]:
    given = getattr(item, "callspec", None)
    return (given.params.get("relay"), given.params.get("kind")) if given else (None, None)


@pytest.fixture(params=["embedded", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def relay(request: pytest.FixtureRequest) -> Iterator[Relay]:
    """A relay in front of our own broker, and one in front of RabbitMQ: faults strike alike."""
    clock = Clock()
    events = Events(clock, keep=100_000)
    fault_engine = FaultEngine(Chance(7), clock, events)
    log = AmqpLog(None, clock, DEFAULT_SCOPE)
    with loop_on_a_thread() as run, ExitStack() as stack:
        if request.param == "embedded":
            upstream = run(start_upstream(None, clock, events))
            stack.callback(lambda: run(upstream.close()))
            direct_url = stack.enter_context(without_faults(run, upstream, clock, Events(clock))).url
            server = run(listen(upstream, clock, events, fault_engine, log))
        else:
            direct_url = request.getfixturevalue("broker_url")
            server = run(
                serve_amqp(
                    *(direct_url, "127.0.0.1", 0),
                    fault_engine=fault_engine,
                    clock=clock,
                    events=events,
                    log=log,
                )
            )
        found = Relay(server, fault_engine, events, log, direct_url)
        yield found
        for connection in found.opened:
            if connection.is_open:
                connection.close()
        run(server.close())
    fault_engine.close()
    log.close()
    failures = ("relay.amqp.failed", "amqp.failed")
    assert [event.fields for event in events.since(limit=100_000) if event.kind in failures] == []


def drained(channel: BlockingChannel, queue: str) -> list[bytes]:
    """What ``basic.get`` finds until there is nothing."""
    found = []
    while (got := channel.basic_get(queue, auto_ack=True))[0] is not None:
        found.append(got[2])
    return found


def consumed(
    channel: BlockingChannel, queue: str, count: int, *, ack: bool = True, wait: float = 30.0
) -> list[Any]:
    """(method, properties, body) of the next ``count`` deliveries, or fewer when none comes in ``wait`` s."""
    found = []
    for method, properties, body in channel.consume(queue, inactivity_timeout=wait):
        if method is None:
            break
        found.append((method, properties, body))
        if ack:
            channel.basic_ack(method.delivery_tag)
        if len(found) == count:
            break
    return found


def heard(connection: pika.BlockingConnection, holds: Callable[[], Any]) -> None:
    """Let the client take what the broker sends until ``holds()``; fails when it never does."""
    for _ in range(300):
        if holds():
            return
        connection.process_data_events(time_limit=0.1)
    raise AssertionError(f"never came about: {holds}")
