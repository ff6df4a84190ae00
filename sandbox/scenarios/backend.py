"""The emulator for a scenario, in this process, with channels of one kind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, Protocol, TypeAlias

from emulator.assembly.components import Components, build_components
from emulator.assembly.embedded import embedded
from emulator.assembly.loopback_broker import loopback_broker
from emulator.channels import Channel, Checkpoints
from emulator.channels.kinesis import KinesisChannel
from emulator.channels.memory import MemoryChannel
from emulator.channels.rabbitmq import RabbitMQChannel
from emulator.clock import Clock
from emulator.faults.fault import Kind
from emulator.rabbitmq.broker_process import (
    HOW_TO_GET_ONE,
    BrokerFailedError,
    explain_missing_server,
    find_server,
    start_broker,
)
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from sandbox.endpoint import Endpoint
from sandbox.scenarios.client_environment import OpenChannel
from sandbox.scenarios.scenario import INPUT, Scenario

Amqp: TypeAlias = Literal["embedded", "server"]
"""What stands behind channels of RabbitMQ: our own broker, or the rabbitmq-server that is installed."""
BROKER_SECONDS: Final = 0.05
"""The real time in seconds that a message of a real broker may take to arrive."""


class NotHereError(RuntimeError):
    """Channels of this kind are not available on this machine; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class ScenarioBackend:
    """A running emulator: its components and the function that opens its channels.

    ``wait`` is the real time in seconds that a read waits for messages. ``control`` is the URL of the control
    API; it is None where nobody watches and the channels need no ports.
    """

    components: Components
    channels: OpenChannel
    wait: float
    control: str | None = None


class _Setting(Protocol):
    def __call__(
        self, settings: Settings, clock: Clock, stack: ExitStack, *, watched: bool
    ) -> ScenarioBackend: ...


@contextmanager
def open_backend(
    scenario: Scenario,
    seed: int,
    kind: Kind,
    clock: Clock,
    *,
    watched: bool = False,
    amqp: Amqp = "embedded",
) -> Iterator[ScenarioBackend]:
    """Start an emulator for a scenario for the time of the context. Raises ``NotHereError``.

    ``watched``: it has a control API whatever the kind of its channels. ``amqp`` is for those of RabbitMQ.
    """
    streams = scenario.streams
    topology = Topology(
        {INPUT: streams.input, "error": streams.error, "invalid": streams.invalid},
        claimable=(INPUT,) if scenario.consumer.claims else (),
    )
    settings = Settings(
        aws_port=0, control_port=0, data_dir=None, seed=seed, topology=topology, region="us-east-1"
    )
    if scenario.consumer.claims and kind is Kind.RABBITMQ:
        raise NotHereError(
            "messages are claimed from queues that are views on streams, which RabbitMQ has none of"
        )
    with ExitStack() as stack:
        settings_of: dict[Kind, _Setting] = {
            Kind.MEMORY: _memory,
            Kind.KINESIS: _kinesis,
            Kind.RABBITMQ: partial(_rabbitmq, amqp=amqp),
        }
        found = settings_of[kind](settings, clock, stack, watched=watched)
        found.components.fault_engine.note_channel(INPUT, kind)
        yield found


def _start(
    settings: Settings, clock: Clock, stack: ExitStack, *, watched: bool
) -> tuple[Components, str | None]:
    """Start the components, with the URL of their control API where somebody watches."""
    if watched:
        running = stack.enter_context(embedded(settings, clock))
        return running.components, running.control
    return stack.enter_context(build_components(settings, clock)), None


def _memory(settings: Settings, clock: Clock, stack: ExitStack, *, watched: bool) -> ScenarioBackend:
    components, control = _start(settings, clock, stack, watched=watched)
    return ScenarioBackend(components, memory_channels(components, clock), 0.0, control)


def memory_channels(components: Components, clock: Clock) -> OpenChannel:
    """The function that opens channels directly over the streams of an emulator in this process."""

    def channel(name: str, checkpoints: Checkpoints | None) -> Channel:
        return MemoryChannel(
            components.streams,
            name,
            clock=clock,
            checkpoints=checkpoints,
            fault_engine=components.fault_engine,
            scope=components.home,
        )

    return channel


def _kinesis(settings: Settings, clock: Clock, stack: ExitStack, *, watched: bool) -> ScenarioBackend:  # noqa: ARG001 -- it always can be
    running = stack.enter_context(embedded(settings, clock))
    endpoint = Endpoint(running.aws, settings.region, settings.token)

    def channel(name: str, checkpoints: Checkpoints | None) -> Channel:
        return KinesisChannel(endpoint.kinesis(), name, clock=clock, checkpoints=checkpoints)

    return ScenarioBackend(running.components, channel, 0.0, running.control)


def _rabbitmq(
    settings: Settings, clock: Clock, stack: ExitStack, *, watched: bool, amqp: Amqp
) -> ScenarioBackend:
    components, control = _start(settings, clock, stack, watched=watched)
    broker = _installed_broker() if amqp == "server" else loopback_broker(components.home)
    url = stack.enter_context(broker)
    open_channel = partial(RabbitMQChannel, url, clock=clock, fault_engine=components.fault_engine)

    def channel(name: str, _checkpoints: Checkpoints | None) -> Channel:
        return open_channel(name)

    return ScenarioBackend(components, channel, BROKER_SECONDS, control)


@contextmanager
def _installed_broker() -> Iterator[str]:
    """Run the RabbitMQ that is installed for the time of the context; yield its URL."""
    server = find_server(os.environ)
    if server is None:
        raise NotHereError("\n".join((explain_missing_server(os.environ), *HOW_TO_GET_ONE)))
    with TemporaryDirectory(prefix="sandbox-rabbitmq-") as folder:
        try:
            broker = start_broker(server, Path(folder), os.environ)
        except BrokerFailedError as error:
            raise NotHereError(str(error)) from error
        try:
            yield broker.url
        finally:
            broker.stop()
