"""Our own broker and RabbitMQ, by raw clients that compare what each answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from emulator.amqp.wire import methods
from emulator.clock import Clock
from emulator.events import Events
from tests.emulator.amqp.calls import delete, delete_exchange
from tests.emulator.amqp.differences import version_of
from tests.emulator.amqp.raw_client import RawClient
from tests.emulator.loop_thread import loop_on_a_thread
from tests.emulator.relay.amqp.embedded import start_upstream, without_faults

QUEUES = ("q1", "q2", "q3")
EXCHANGES = ("e1", "e2", "e3")


@pytest.fixture(scope="module")
def own_url() -> Iterator[str]:
    """The URL of our own broker."""
    clock = Clock()
    with loop_on_a_thread() as run, ExitStack() as stack:
        events = Events(clock)
        upstream = run(start_upstream(None, clock, events))
        stack.callback(lambda: run(upstream.close()))
        yield stack.enter_context(without_faults(run, upstream, clock, Events(clock))).url
        failures = [event.fields for event in events.since() if event.kind == "amqp.failed"]
        assert failures == []


@pytest.fixture(params=["embedded", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def url(request: pytest.FixtureRequest) -> str:
    """A broker without the queues and exchanges that tests make."""
    found: str = request.getfixturevalue("own_url" if request.param == "embedded" else "broker_url")
    tidy = RawClient(found)
    tidy.open()
    for name in QUEUES:
        assert isinstance(tidy.ask(delete(name)), methods.QueueDeleteOk)
    for name in EXCHANGES:
        assert tidy.ask(delete_exchange(name)) == methods.ExchangeDeleteOk()
    tidy.close()
    return found


@pytest.fixture
def connect(url: str) -> Iterator[Callable[..., RawClient]]:
    """Open a connection with its first channel."""
    opened: list[RawClient] = []

    def open_one(*, channels: int = 1, **options: Any) -> RawClient:
        opened.append(RawClient(url, **{key: value for key, value in options.items() if key in _OF_CLIENT}))
        opened[-1].open(channels, **{key: value for key, value in options.items() if key not in _OF_CLIENT})
        return opened[-1]

    yield open_one
    for client in opened:
        client.close()


_OF_CLIENT = ("properties", "frame_max")


@pytest.fixture
def client(connect: Callable[..., RawClient]) -> RawClient:
    """An open connection with channel 1."""
    return connect()


@pytest.fixture(scope="session")
def versions() -> dict[str, tuple[int, ...]]:
    """The version of each broker that was asked, by its URL."""
    return {}


@pytest.fixture
def version(url: str, versions: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The version that the broker says it has."""
    if url not in versions:
        asked = RawClient(url)
        versions[url] = version_of(asked.greet())
        asked.close()
    return versions[url]
