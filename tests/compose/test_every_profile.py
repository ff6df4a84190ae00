"""What holds in every profile, shown in each: embedded, relay, localstack and compose, with boto3 and pika.

A profile is a parameter. Where one cannot be had, its tests skip and say why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from emulator.channels import Channel, Checkpoints, Delivery, MemoryCheckpoints, PublishRefused, Receipt
from emulator.channels.kinesis import KinesisChannel
from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.channels.rabbitmq import RabbitMQChannel
from emulator.client import Client
from emulator.clock import Clock
from emulator.embedded import Embedded, embedded
from emulator.events import Event, Events
from emulator.faults.stage import Stage
from emulator.kinesis import Engine
from emulator.resources import NewFault, Reshard, Topology
from emulator.rng import Chance, new_uuid
from emulator.settings import Settings
from sandbox.endpoint import Endpoint
from sandbox.profiles import localstack
from schemas.envelope import serialise
from schemas.samples import Samples
from tests.compose.conftest import Stack

PROFILES = ("embedded", "relay", "localstack", "compose")
SEED = 7
WAIT = 20.0
AMQP_SECONDS = 60.0
FIFTY = [(serialise(message), "k") for message in Samples(SEED).stream(50)]

pytestmark = [pytest.mark.xdist_group("compose"), pytest.mark.timeout(900)]


@dataclass
class House:
    """A sandbox of some profile, for clients; what a test opens is closed and removed behind it."""

    profile: str
    aws: str
    amqp: str | None
    control: Client
    channels: list[Channel] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.aws, "us-east-1")

    def stream(self, shards: int = 1) -> str:
        """A stream of a test's own."""
        name = f"input-{new_uuid()[:8]}"
        self.streams.append(name)
        self.control.populate(Topology(streams={name: shards}))
        return name

    def over_kinesis(self, name: str, checkpoints: Checkpoints | None = None) -> KinesisChannel:
        channel = KinesisChannel(self.endpoint.kinesis(), name, clock=Clock(), checkpoints=checkpoints)
        self.channels.append(channel)
        return channel

    def over_rabbitmq(self, name: str) -> RabbitMQChannel:
        if self.amqp is None:
            pytest.skip("NO RABBITMQ: rabbitmq-server is not on PATH, so nothing was tested against it")
        channel = RabbitMQChannel(self.amqp, name, clock=Clock())
        self.channels.append(channel)
        return channel

    def put_away(self) -> None:
        for fault in self.control.faults():
            self.control.remove_fault(fault.name)
        for channel in self.channels:
            channel.close()
        self.channels.clear()
        kinesis = self.endpoint.kinesis()
        while self.streams:
            name = self.streams.pop()
            kinesis.get_waiter("stream_exists").wait(
                StreamName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
            )
            kinesis.delete_stream(StreamName=name)
        kinesis.close()


def settings(**more: Any) -> Settings:
    given = {"aws_port": 0, "control_port": 0, "amqp_port": 0, "data_dir": None, "seed": SEED, **more}
    return Settings(**given)


def house_of(profile: str, running: Embedded, stack: ExitStack) -> House:
    control = stack.enter_context(Client(running.control))
    return House(profile, running.aws, amqp_of(running), control)


def amqp_of(running: Embedded) -> str | None:
    """Where RabbitMQ answers, once it does; None where there is none."""
    clock = Clock()
    deadline = clock.elapsed() + AMQP_SECONDS
    while running.broker.url is not None and not running.broker.answers:
        assert clock.elapsed() < deadline, running.broker.note
        clock.wait(0.1)
    return running.broker.url


@contextmanager
def embedded_house(_request: pytest.FixtureRequest, _folder: Path) -> Iterator[House]:
    with ExitStack() as stack:
        running = stack.enter_context(embedded(settings(amqp="auto")))
        yield house_of("embedded", running, stack)


@contextmanager
def relay_house(_request: pytest.FixtureRequest, _folder: Path) -> Iterator[House]:
    """In front of an embedded sandbox, as in front of anybody's endpoint."""
    with ExitStack() as stack:
        behind = stack.enter_context(embedded(settings(amqp="auto", seed=1, topology=Topology())))
        asked = settings(profile="relay", upstream_aws=behind.aws, upstream_amqp=amqp_of(behind))
        yield house_of("relay", stack.enter_context(embedded(asked)), stack)


@contextmanager
def localstack_house(_request: pytest.FixtureRequest, folder: Path) -> Iterator[House]:
    """LocalStack itself in host mode, installed from the package registries, and RabbitMQ beside it."""
    if not answers("python3.13") or not answers("npm"):
        pytest.skip("NO PYTHON 3.13 OR NO NPM: LocalStack in host mode was not tested against")
    with ExitStack() as stack:
        localstack.install(folder, print)
        url = stack.enter_context(localstack.started(folder, os.environ, print))
        asked = settings(profile="localstack", upstream_aws=url, upstream_owned=True, amqp="auto")
        yield house_of("localstack", stack.enter_context(embedded(asked)), stack)


def answers(command: str) -> bool:
    if shutil.which(command) is None:
        return False
    return subprocess.run([command, "--version"], capture_output=True, check=False).returncode == 0


@contextmanager
def compose_house(request: pytest.FixtureRequest, _folder: Path) -> Iterator[House]:
    stack: Stack = request.getfixturevalue("stack")
    with Client(stack.said["control"], token=stack.said["token"]) as control:
        yield House("compose", stack.said["aws"], stack.said["amqp"], control)


HOUSES: dict[str, Callable[[pytest.FixtureRequest, Path], Any]] = {
    "embedded": embedded_house,
    "relay": relay_house,
    "localstack": localstack_house,
    "compose": compose_house,
}


@pytest.fixture(scope="module")
def houses(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Each profile's sandbox, brought up when first asked for."""
    up: dict[str, House] = {}
    with ExitStack() as stack:

        def house(profile: str) -> House:
            if profile not in up:
                folder = Path(tmp_path_factory.mktemp(profile))
                up[profile] = stack.enter_context(HOUSES[profile](request, folder))
            return up[profile]

        yield house


@pytest.fixture(params=PROFILES)
def house(request: pytest.FixtureRequest, houses: Any) -> Iterator[House]:
    found: House = houses(request.param)
    yield found
    found.put_away()


def read_all(channel: Channel, count: int) -> list[Delivery]:
    found: list[Delivery] = []
    while len(found) < count:
        more = channel.read(limit=1000, wait=WAIT)
        assert more, f"only {len(found)} of {count} messages came"
        found += more
    return found + channel.read(limit=1000)


def test_messages_of_a_key_arrive_in_order_and_go_on_behind_a_checkpoint(house: House) -> None:
    """Alone or in a batch, over two shards; what was committed does not come again."""
    name = house.stream(2)
    sender, checkpoints = house.over_kinesis(name), MemoryCheckpoints()
    for number in range(5):
        sender.publish(str(number).encode(), f"key {number % 3}")
    sender.publish_many([(str(number).encode(), f"key {number % 3}") for number in range(5, 30)])
    reader = house.over_kinesis(name, checkpoints)
    came = read_all(reader, 30)
    for key in {each.key for each in came}:
        numbers = [int(each.data) for each in came if each.key == key]
        assert numbers == sorted(numbers)
    for each in came:
        reader.commit(each)
    sender.publish(b"30", "key 0")
    assert [each.data for each in read_all(house.over_kinesis(name, checkpoints), 1)] == [b"30"]


def test_a_split_loses_nothing_and_a_parent_is_read_before_its_children(house: House) -> None:
    """Messages before and behind it, in order for each key."""
    name = house.stream()
    channel = house.over_kinesis(name)
    channel.publish_many([(str(number).encode(), f"key {number % 4}") for number in range(20)])
    house.control.reshard(name, Reshard("split"))
    channel.publish_many([(str(number).encode(), f"key {number % 4}") for number in range(20, 40)])
    came = read_all(channel, 40)
    assert sorted(int(each.data) for each in came) == list(range(40))
    assert {each.shard for each in came[:20]} == {"shardId-000000000000"}
    shards = house.control.stream(name).shards
    assert [(shard.open, len(shard.children)) for shard in shards] == [(False, 2), (True, 0), (True, 0)]


def test_the_faults_of_the_card_strike(house: House) -> None:
    """A duplicate is two records, a delay a longer call, an error a refusal, a split a split."""
    name = house.stream()
    channel, clock = house.over_kinesis(name), Clock()
    house.control.add_fault(NewFault("duplicate", name="twice", channel=name, direction="publish", limit=1))
    channel.publish(b"one", "k")
    house.control.add_fault(
        NewFault("latency", name="slow", channel=name, direction="publish", attributes={"delay": "700ms"})
    )
    began = clock.elapsed()
    channel.publish(b"two", "k")
    assert clock.elapsed() - began >= 0.7
    house.control.remove_fault("slow")
    refusal = {"code": "AccessDeniedException", "status": 400}
    house.control.add_fault(
        NewFault("error", name="no", channel=name, direction="publish", attributes=refusal, limit=1)
    )
    with pytest.raises(PublishRefused, match="AccessDenied"):
        channel.publish(b"three", "k")
    house.control.add_fault(
        NewFault("reshard", name="split", channel=name, attributes={"action": "split"}, limit=1)
    )
    channel.publish(b"four", "k")
    assert sorted(each.data for each in read_all(channel, 4)) == [b"four", b"one", b"one", b"two"]
    assert [fault.injected for fault in house.control.faults()] == [1, 1, 1]


def test_a_seed_strikes_the_same_messages_everywhere(house: House) -> None:
    """The same of fifty, whatever is behind the faults; and what is behind has them all."""
    name = house.stream()
    channel = house.over_kinesis(name)
    house.control.add_fault(seeded(name))
    before = house.control.last_event()
    outcomes = channel.publish_many(FIFTY)
    expected = struck_in_memory()
    assert len(expected) > 3
    assert struck(house.control.events(after=before, limit=10_000), name) == expected
    # An upstream may refuse an entry for a reason of its own, such as its throughput.
    taken = [data for (data, _), outcome in zip(FIFTY, outcomes, strict=True) if isinstance(outcome, Receipt)]
    found: set[bytes] = set()
    while not found >= set(taken):
        more = channel.read(limit=1000, wait=WAIT)
        assert more, f"{set(taken) - found} did not come"
        found |= {each.data for each in more}


def struck(events: Iterable[Event], channel: str) -> set[str]:
    """The messages of a channel that the fault struck, by their ids."""
    found = (event.fields for event in events if event.kind == "fault.injected")
    return {fields["message_id"] for fields in found if fields["channel"] == channel}


def seeded(channel: str) -> NewFault:
    return NewFault("duplicate", name="seeded", channel=channel, direction="publish", toxicity=0.2)


def struck_in_memory() -> set[str]:
    """Which of the fifty the seed strikes, with nothing but an engine behind the faults."""
    clock = Clock()
    events = Events(clock)
    stage = Stage(Chance(SEED), clock, events)
    engine = Engine(None, clock, events)
    engine.call("CreateStream", {"StreamName": "input", "ShardCount": 1}, DEFAULT_SCOPE)
    stage.add(seeded("input"))
    MemoryChannel(engine, "input", clock=clock, stage=stage).publish_many(FIFTY)
    stage.close()
    engine.close()
    return struck(events.since(0, events.last), "input")
