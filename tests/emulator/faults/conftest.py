"""Every adaptor of the fault engine, behind the one suite of faults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from emulator.channels.channel import Channel
from emulator.clock import Clock
from emulator.kinesis import Engine
from emulator.rng import new_uuid
from tests.emulator.conftest import (
    EVERYWHERE,
    NOON,
    THROUGH_AMQP,
    AnyBench,
    Bench,
    bench_of,
    loop_on_a_thread,
    opened_bench,
)
from tests.emulator.faults.conformance_channels import (
    GettingChannel,
    OutsideChannel,
    ParcelChannel,
    TopicChannel,
)
from tests.emulator.faults.unsupported import GETS, OUTSIDE, PARCELS_SENT, TOPIC, UNSUPPORTED
from tests.parcels import PARCELS
from tests.taken_out import needs

EVERY_ADAPTOR = [
    *EVERYWHERE,
    PARCELS_SENT,
    pytest.param(TOPIC, marks=needs("topics")),
    pytest.param(OUTSIDE, marks=needs("processing")),
    pytest.param(GETS, marks=pytest.mark.rabbitmq),
]


@pytest.fixture(params=EVERY_ADAPTOR)
def bench(request: pytest.FixtureRequest) -> Iterator[AnyBench]:
    """Each adaptor in turn. What one does not support is in one table, with the reason."""
    for case, reason in UNSUPPORTED.get(request.param, {}).items():
        name, _, value = case.partition("[")
        values = {str(given) for given in request.node.callspec.params.values()}
        if request.function.__name__ == name and (not value or value[:-1] in values):
            pytest.skip(f"{request.param}: {reason}")
    openings = {
        TOPIC: opened_topic,
        OUTSIDE: opened_outside,
        GETS: opened_gets,
        PARCELS_SENT: opened_parcels,
    }
    opening = openings.get(request.param)
    with bench_of(request) if opening is None else opening(request) as found:
        yield found


@contextmanager
def opened_topic(_request: pytest.FixtureRequest) -> Iterator[Bench]:
    from extensions.topics.engine.topic_definitions import Topic
    from extensions.topics.topic_configuration import TopicConfiguration
    from tests.extensions.topics.http.conftest import Port

    name = f"input-{new_uuid()[:8]}"
    clock = Clock(frozen_at=NOON, autojump=True)
    channels: list[Channel] = []
    with loop_on_a_thread() as run:
        port = Port(TopicConfiguration(topics=(Topic(name=name, logged=True),)), clock)
        run(port.begin())

        def connected(name: str, _checkpoints: Any, **_options: Any) -> Channel:
            channels.append(TopicChannel(f"ws://127.0.0.1:{port.server.port}/topics/ws", name))
            return channels[-1]

        engine = Engine(None, clock, port.happened)
        yield Bench(
            "topic", clock, port.happened, port.fault_engine, engine, connected, jumps=True, name=name
        )
        for channel in channels:
            channel.close()
        engine.close()
        run(port.end())
        assert not port.failures


@contextmanager
def opened_outside(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with opened_bench("memory", request) as found:

        def connected(name: str, _checkpoints: Any, **_options: Any) -> Channel:
            from extensions.processing import SimulatedSystem

            return OutsideChannel(SimulatedSystem(name, found.clock, found.fault_engine))

        found.connect = connected
        yield found


@contextmanager
def opened_parcels(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with opened_bench("memory", request, PARCELS) as found:

        def connected(name: str, checkpoints: Any, attempts: int = 1) -> Channel:
            del attempts
            return ParcelChannel(
                found.engine,
                name,
                clock=found.clock,
                checkpoints=checkpoints,
                fault_engine=found.fault_engine,
            )

        found.connect = connected
        yield found


@contextmanager
def opened_gets(request: pytest.FixtureRequest) -> Iterator[Bench]:
    channels: list[Channel] = []
    with opened_bench(THROUGH_AMQP, request) as found:
        connect = found.connect

        def connected(name: str, checkpoints: Any, **options: Any) -> Channel:
            relayed: Any = connect(name, checkpoints, **options)
            channels.append(GettingChannel(relayed._url, name, clock=found.clock))
            return channels[-1]

        found.connect = connected
        # A get does not wait for what is held back, so nothing moves the clock by itself.
        found.jumps = False
        yield found
        for channel in channels:
            channel.close()
