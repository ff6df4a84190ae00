"""The emulator for a scenario, in this process, with channels of one kind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, TypeAlias

from emulator.assembly.components import Components, build_components
from emulator.assembly.embedded import embedded
from emulator.assembly.loopback_broker import loopback_broker
from emulator.channels.kind_registry import KINDS, list_kinds
from emulator.channels.kinds import Broker
from emulator.clock import Clock
from emulator.rabbitmq.broker_process import (
    HOW_TO_GET_ONE,
    BrokerFailedError,
    explain_missing_server,
    find_server,
    start_broker,
)
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from sandbox.scenarios.client_environment import OpenChannel
from sandbox.scenarios.scenario import INPUT, Scenario, explain_missing_ids
from schemas.bound import CONTRACT
from schemas.contract import list_queues

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


@contextmanager
def open_backend(
    scenario: Scenario,
    seed: int,
    kind: str,
    clock: Clock,
    *,
    watched: bool = False,
    amqp: Amqp = "embedded",
) -> Iterator[ScenarioBackend]:
    """Start an emulator for a scenario for the time of the context. Raises ``NotHereError``.

    ``watched``: it has a control API whatever its channels are. ``amqp`` is for those at an AMQP port.
    """
    declared = KINDS[kind]
    if not declared.broker:
        there = ", ".join(list_kinds("broker"))
        raise NotHereError(f"a sandbox has no channels of {kind}; it has those of {there}")
    if scenario.consumer.claims and not declared.streams:
        raise NotHereError(f"messages are claimed from views on streams, which channels of {kind} are not")
    if declared.broker != "amqp" and (why := explain_missing_ids(CONTRACT.without_headers)):
        raise NotHereError(f"{why}; channels of rabbitmq carry headers")
    streams = scenario.streams
    topology = Topology(
        {
            **dict.fromkeys(list_queues(CONTRACT), 1),
            INPUT: streams.input,
            "error": streams.error,
            "invalid": streams.invalid,
        },
        claimable=(INPUT,) if scenario.consumer.claims else (),
    )
    settings = Settings(
        aws_port=0, control_port=0, data_dir=None, seed=seed, topology=topology, region="us-east-1"
    )
    with ExitStack() as stack:
        address, control = "", None
        if watched or declared.broker == "aws":
            running = stack.enter_context(embedded(settings, clock))
            components, address, control = running.components, running.aws, running.control
        else:
            components = stack.enter_context(build_components(settings, clock))
        if declared.broker == "amqp":
            own = _installed_broker() if amqp == "server" else loopback_broker(components.home)
            address = stack.enter_context(own)
        faults, streams_here = components.fault_engine, components.streams
        broker = Broker(address, settings.region, fault_engine=faults, streams=streams_here)
        queues = stack.enter_context(closing(declared.connect(broker, clock)))
        faults.note_channel(INPUT, kind)
        wait = 0.0 if declared.streams else BROKER_SECONDS
        yield ScenarioBackend(components, queues.channel, wait, control)


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
