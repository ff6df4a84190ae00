"""Brokers of every kind, behind the channel seam, with the fault stage in front of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.emulator.endpoint_fixtures import endpoint, kinesis, loop_thread, served
from tests.emulator.faulted_brokers import (
    EVERYWHERE,
    STREAMS_EVERYWHERE,
    AnyBroker,
    Broker,
    broker_of,
    opened_broker,
)


@pytest.fixture(params=EVERYWHERE)
def broker(request: pytest.FixtureRequest) -> Iterator[AnyBroker]:
    """Each kind of broker in turn, RabbitMQ with the relay in front, and all of it in each profile."""
    with broker_of(request) as found:
        yield found


@pytest.fixture(params=STREAMS_EVERYWHERE)
def stream_broker(request: pytest.FixtureRequest) -> Iterator[AnyBroker]:
    """Each kind that has shards, in turn, and Kinesis in each profile."""
    with broker_of(request) as found:
        yield found


@pytest.fixture
def brokers(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Broker]]:
    """Brokers of a kind, as many as a test wants."""
    opened = []

    def another(kind: str) -> Broker:
        context = opened_broker(kind, request)
        opened.append(context)
        return context.__enter__()

    yield another
    for context in opened:
        context.__exit__(None, None, None)
