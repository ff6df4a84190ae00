"""Brokers of every kind with the fault stage in front, on a clock on which every wait is over at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import pytest

from emulator.channels.channel import Channel
from emulator.channels.checkpoints import Checkpoints
from emulator.channels.kinesis import KinesisChannel, connect
from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.channels.rabbitmq import RabbitMQChannel
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.containers import Container
from emulator.faults.fault_engine import FaultEngine
from emulator.kinesis import Engine
from emulator.listeners.aws.aws_app import AwsApp
from emulator.listeners.aws.engine_backend import EngineBackend
from emulator.listeners.aws.kinesis_faults import KinesisFaults
from emulator.relay.amqp.amqp_server import serve_amqp
from emulator.relay.aws.endpoints import AccountEndpoints, OneEndpoint
from emulator.relay.aws.relay_app import RelayApp
from emulator.relay.aws.relay_backend import RelayBackend
from emulator.relay.aws.traffic_watch import Traffic
from emulator.rng import Chance, new_uuid
from emulator.streams.amqp_log import AmqpLog
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import NewFault
from schemas.contract import Contract
from schemas.rdss.contract import RDSS
from tests.emulator.loop_thread import LoopThread, loop_on_a_thread
from tests.emulator.profile_broker import ProfileBroker
from tests.profile_sandboxes import PROFILES, in_profiles, use_sandbox

ENDPOINTS = ("kinesis", "relay")


NOON = 1_790_000_000.0


THROUGH_AMQP = "rabbitmq through the relay"


STREAMS = ("memory", "kinesis", "relay")


"""A relay is Kinesis with the faults in one server and the engine in another."""


EVERYWHERE = [
    *STREAMS,
    *(pytest.param(kind, marks=pytest.mark.rabbitmq) for kind in ("rabbitmq", THROUGH_AMQP)),
    *in_profiles("kinesis", "rabbitmq"),
]


STREAMS_EVERYWHERE = [*STREAMS, *in_profiles("kinesis")]


class FakeContainer(Container):
    """A container that writes down what is done to it."""

    did: ClassVar[list[str]] = []

    def pause(self) -> None:
        self.did.append("pause")

    def resume(self) -> None:
        self.did.append("resume")

    def kill(self) -> None:
        self.did.append("kill")

    def disconnect(self) -> None:
        self.did.append("disconnect")

    def reconnect(self) -> None:
        self.did.append("reconnect")


@dataclass
class Broker:
    """One kind of broker and the stage in front of it, on a clock on which every wait is over at once."""

    kind: str
    clock: Clock
    events: Events
    fault_engine: FaultEngine
    engine: Engine
    connect: Callable[..., Channel]
    on_the_wire: bool = False
    """Whether the faults strike AMQP itself, where a refusal has no code and a wait no end of its own."""
    jumps: bool = False
    """Whether something waits on the clock by itself, and so moves it."""
    leeway: float = 2.0
    """Seconds of the clock that may pass beside a wait."""
    name: str = field(default_factory=lambda: f"input-{new_uuid()[:8]}")
    contract: Contract = RDSS

    def create(self, shards: int = 1) -> None:
        """Make the channel that ``open`` opens."""
        if self.kind in {"memory", "kinesis"}:
            self.call("CreateStream", ShardCount=shards)

    def open(self, checkpoints: Checkpoints | None = None, **options: Any) -> Channel:
        return self.connect(self.name, checkpoints, **options)

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        return self.engine.call(operation, {"StreamName": self.name, **request}, DEFAULT_SCOPE)

    def split(self, shard: str, at: int) -> None:
        self.call("SplitShard", ShardToSplit=shard, NewStartingHashKey=str(at))

    def shards(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("ListShards")["Shards"]
        return found

    def fault(self, type_: str, **fields: Any) -> str:
        return self.fault_engine.add(NewFault(type_, **fields)).name

    def injected(self, name: str) -> int:
        """How often a fault struck."""
        return self.fault_engine.get(name).injected

    def injections(self) -> list[Event]:
        return [event for event in self.events.since(limit=100_000) if event.kind == "fault.injected"]

    def failures(self) -> list[Event]:
        """What faults could not do."""
        return [event for event in self.events.since(limit=100_000) if event.kind == "fault.failed"]

    def meet(self, _channel: Channel) -> None:
        """Let the stage see what kind of channel this is."""
        self.fault_engine.note_channel(self.name, self.kind)

    def hurry(self) -> None:
        """Let waits of minutes be over soon: on this clock all are over at once."""

    @contextmanager
    def target(self) -> Iterator[str]:
        """The name of something that ``pause``, ``kill`` and ``isolate`` can strike."""
        FakeContainer.did.clear()
        self.fault_engine.add_target("broker", FakeContainer("project", "broker"))
        yield "broker"

    def struck(self, _count: int) -> list[str]:
        """What was done to the target, once all that is due was done: ``count`` things are expected."""
        self.fault_engine.run_due()
        return FakeContainer.did


AnyBroker: TypeAlias = Broker | ProfileBroker


@contextmanager
def broker_of(request: pytest.FixtureRequest) -> Iterator[AnyBroker]:
    profile, _, kind = request.param.partition(" ")
    if not kind or profile not in PROFILES:
        with opened_broker(request.param, request) as found:
            yield found
        return
    with use_sandbox(profile, request, kind) as sandbox, closing(ProfileBroker(sandbox, kind)) as found:
        yield found


@contextmanager
def opened_broker(kind: str, request: pytest.FixtureRequest, contract: Contract = RDSS) -> Iterator[Broker]:
    clock = Clock(frozen_at=NOON, autojump=True)
    events = Events(clock, keep=100_000)
    engine = Engine(None, clock, events)
    fault_engine = FaultEngine(
        Chance(7),
        clock,
        events,
        control=lambda operation, asked: engine.call(operation, asked, DEFAULT_SCOPE),
        streams=lambda: [view.name for view in engine.streams(DEFAULT_SCOPE)],
        contract=contract,
    )
    open_channels: list[Channel] = []

    def remembered(channel: Channel) -> Channel:
        open_channels.append(channel)
        return channel

    with ExitStack() as stack:
        if kind == THROUGH_AMQP:
            url = request.getfixturevalue("broker_url")
            endpoint = stack.enter_context(relaying_amqp(url, clock, events, fault_engine))
        else:
            endpoint = stack.enter_context(listening(kind, engine, clock, events, fault_engine))
        url, queue_stage = endpoint, None
        if kind == "rabbitmq":
            url, queue_stage = request.getfixturevalue("broker_url"), fault_engine

        def connected(name: str, checkpoints: Checkpoints | None, **options: Any) -> Channel:
            if kind == "memory":
                options.pop("attempts", None)
                return remembered(
                    MemoryChannel(
                        engine,
                        name,
                        clock=clock,
                        checkpoints=checkpoints,
                        fault_engine=fault_engine,
                        **options,
                    )
                )
            if kind in ENDPOINTS:
                client = connect(endpoint)
                return remembered(
                    KinesisChannel(client, name, clock=clock, checkpoints=checkpoints, **options)
                )
            options.pop("attempts", None)
            return remembered(RabbitMQChannel(url, name, clock=clock, fault_engine=queue_stage, **options))

        like = {"relay": "kinesis", THROUGH_AMQP: "rabbitmq"}.get(kind, kind)
        over_amqp = kind == THROUGH_AMQP
        yield Broker(
            like,
            clock,
            events,
            fault_engine,
            engine,
            connected,
            over_amqp,
            jumps=over_amqp,
            contract=contract,
        )
        for channel in open_channels:
            channel.close()
    fault_engine.close()
    engine.close()


@contextmanager
def relaying_amqp(broker: str, clock: Clock, events: Events, fault_engine: FaultEngine) -> Iterator[str]:
    """The AMQP port with the faults in front of a broker."""
    with loop_on_a_thread() as run:
        log = AmqpLog(None, clock, DEFAULT_SCOPE)
        server = run(
            serve_amqp(broker, "127.0.0.1", 0, fault_engine=fault_engine, clock=clock, events=events, log=log)
        )
        yield server.url
        run(server.close())
        log.close()


@contextmanager
def listening(
    kind: str, engine: Engine, clock: Clock, events: Events, fault_engine: FaultEngine
) -> Iterator[str]:
    """The AWS port with the faults in front, for the kind that needs it."""
    if kind not in ENDPOINTS:
        yield ""
        return
    backend = EngineBackend(engine, clock)
    with closing(LoopThread()) as thread:
        if kind == "kinesis":
            faults = KinesisFaults(fault_engine, clock, engine.stream_of_iterator)
            yield thread.serve(AwsApp(backend, events, [faults])).url
            return
        upstream = thread.serve(AwsApp(backend, events))
        endpoints, accounts = OneEndpoint(upstream.url), AccountEndpoints(upstream.url)
        traffic = Traffic(lambda *_: None, lambda: None)
        relayed = RelayBackend(accounts.of, traffic)
        faults = KinesisFaults(fault_engine, clock, traffic.stream_of_iterator)
        yield thread.serve(RelayApp(endpoints, relayed, traffic, events=events, interceptors=[faults])).url
        thread.close_servers()
        thread.loop.call_soon_threadsafe(endpoints.close)
        thread.loop.call_soon_threadsafe(accounts.close)
