"""RabbitMQ or our own broker behind the relay, and pika in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from emulator.channels.memory import DEFAULT_SCOPE
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.relay.amqp.amqp_server import serve_amqp
from emulator.rng import Chance
from emulator.streams.amqp_log import AmqpLog
from tests.emulator.loop_thread import loop_on_a_thread
from tests.emulator.relay.amqp.embedded import listen, start_upstream, without_faults
from tests.emulator.relay.amqp.relay_under_test import Relay


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
