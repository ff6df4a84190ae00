"""How the adaptor of each transport is opened with the faults in front."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from emulator.channels.channel import Channel
from emulator.clock import Clock
from emulator.kinesis import Engine
from emulator.rng import new_uuid
from tests.emulator.faulted_brokers import EVERYWHERE, NOON, THROUGH_AMQP, Broker, opened_broker
from tests.emulator.faults.conformance_channels import (
    GettingChannel,
    OutsideChannel,
    ParcelChannel,
    TopicChannel,
)
from tests.emulator.faults.unsupported import GETS, OUTSIDE, PARCELS_SENT, TOPIC
from tests.emulator.loop_thread import loop_on_a_thread
from tests.parcels import PARCELS
from tests.taken_out import needs

EVERY_ADAPTOR = [
    *EVERYWHERE,
    PARCELS_SENT,
    pytest.param(TOPIC, marks=needs("topics")),
    pytest.param(OUTSIDE, marks=needs("processing")),
    pytest.param(GETS, marks=pytest.mark.rabbitmq),
]


@contextmanager
def opened_topic(_request: pytest.FixtureRequest) -> Iterator[Broker]:
    from extensions.topics.engine.topic_definitions import Topic
    from extensions.topics.topic_configuration import TopicConfiguration
    from tests.extensions.topics.http.topics_port import Port

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
        yield Broker(
            "topic", clock, port.happened, port.fault_engine, engine, connected, jumps=True, name=name
        )
        for channel in channels:
            channel.close()
        engine.close()
        run(port.end())
        assert not port.failures


@contextmanager
def opened_outside(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with opened_broker("memory", request) as found:

        def connected(name: str, _checkpoints: Any, **_options: Any) -> Channel:
            from extensions.processing import SimulatedSystem

            return OutsideChannel(SimulatedSystem(name, found.clock, found.fault_engine))

        found.connect = connected
        yield found


@contextmanager
def opened_parcels(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with opened_broker("memory", request, PARCELS) as found:

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
def opened_gets(request: pytest.FixtureRequest) -> Iterator[Broker]:
    channels: list[Channel] = []
    with opened_broker(THROUGH_AMQP, request) as found:
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
