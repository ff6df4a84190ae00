"""The content-based router and the RDSS topology: a message reaches those that it concerns, and no others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.assembly.embedded import embedded
from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine
from emulator.settings.settings import RDSS_TOPOLOGY, Settings, read_settings
from emulator.settings.topologies import INSTITUTIONS
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.receiver import MemoryOriginals
from sandbox.repository import Repository
from sandbox.router.router import Router
from sandbox.router.routing_table import RDSS_ROUTES
from sandbox.router.running_router import MACHINE, assembled_router, routing
from schemas.rdss import MAX_MESSAGE_BYTES
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from schemas.rdss.validation import judge

NOW = 1_780_000_000.0
SERVICE_OUTPUTS = [f"{group}_services_output_dev" for group in ("internal", "rdss", "shared")]


@dataclass
class Site:
    """The topology in memory, and a router that can be restarted."""

    folder: Path
    clock: Clock
    engine: Engine
    stack: ExitStack

    def channel(self, name: str, checkpoints: Any = None) -> MemoryChannel:
        return MemoryChannel(self.engine, name, clock=self.clock, checkpoints=checkpoints)

    def router(self) -> Router:
        repository = self.stack.enter_context(closing(Repository(self.folder / "r.sqlite3", self.clock)))
        assembly = assembled_router(
            RDSS_ROUTES,
            self.channel,
            self.channel,
            MemoryOriginals(),
            repository=repository,
            clock=self.clock,
        )
        return self.stack.enter_context(assembly)

    def put(self, stream: str, raw: bytes) -> None:
        self.channel(stream).publish(raw, "key")

    def holding(self) -> dict[str, list[dict[str, Any]]]:
        """What is on each stream but the sources."""
        found = {
            name: [msgspec.json.decode(delivery.data) for delivery in self.channel(name).read(limit=100)]
            for name in RDSS_TOPOLOGY.streams
            if name not in RDSS_ROUTES.services
        }
        return {name: messages for name, messages in sorted(found.items()) if messages}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    clock = Clock(frozen_at=NOW, autojump=True)
    with ExitStack() as stack:
        engine = stack.enter_context(closing(Engine(None, clock, Events(clock))))
        for name, shards in RDSS_TOPOLOGY.streams.items():
            engine.call("CreateStream", {"StreamName": name, "ShardCount": shards}, DEFAULT_SCOPE)
        yield Site(tmp_path, clock, engine, stack)


def _message(tenant: int, **header: Any) -> dict[str, Any]:
    message = Samples(1).message("MetadataCreate", "dataset")
    message["messageHeader"] |= {"tenantJiscID": tenant, **header}
    return message


def test_the_topology_is_that_of_rdss() -> None:
    """An input and an output for each of 13 institutions and 3 groups of services; queues; audit."""
    assert len(INSTITUTIONS) == 13
    assert len(RDSS_TOPOLOGY.streams) == 2 * 13 + 2 * 3 + 3
    assert {"institute_1539_input_dev", "shared_services_output_dev", "message_invalid_dev"} < set(
        RDSS_TOPOLOGY.streams
    )
    assert read_settings({"topology": "rdss"}, {}).topology == RDSS_TOPOLOGY


def test_what_an_institution_sends_goes_to_the_services(site: Site) -> None:
    """All groups of services get it, with the router's entry last in its history and nothing else changed."""
    message = _message(1539)
    site.put("institute_1539_input_dev", serialise(message))
    site.router().run_once()
    holding = site.holding()
    assert list(holding) == SERVICE_OUTPUTS
    for (routed,) in holding.values():
        *before, entry = routed["messageHeader"].pop("messageHistory")
        assert entry["machineId"] == MACHINE.id
        assert before == message["messageHeader"]["messageHistory"]
        assert routed["messageBody"] == message["messageBody"]
    assert judge(serialise({**message})).valid


def test_what_a_service_sends_goes_to_the_institution_of_its_tenant(site: Site) -> None:
    """By tenantJiscID: to that institution and to the other groups, not back to the sender."""
    site.put("shared_services_input_dev", serialise(_message(89)))
    site.router().run_once()
    assert list(site.holding()) == ["institute_89_output_dev", *SERVICE_OUTPUTS[:2]]


@pytest.mark.parametrize("source", ["institute_1539_input_dev", "shared_services_input_dev"])
def test_an_unknown_tenant_is_rejected(site: Site, source: str) -> None:
    """GENERR004 on the invalid stream, with the tenant and those there are; nobody else gets it."""
    site.put(source, serialise(_message(5)))
    site.router().run_once()
    ((queue, (rejected,)),) = site.holding().items()
    assert queue == "message_invalid_dev"
    assert rejected["messageHeader"]["errorCode"] == "GENERR004"
    assert "tenantJiscID 5 is no institution here" in rejected["messageHeader"]["errorDescription"]


@pytest.mark.parametrize(("raw", "code"), [(b'{"messageHeader":', "GENERR007"), (b"{}", "GENERR004")])
def test_what_has_no_tenant_is_rejected_and_the_next_is_routed(site: Site, raw: bytes, code: str) -> None:
    """Malformed: its own code; what comes behind it is not held up."""
    site.put("institute_1539_input_dev", raw)
    site.put("institute_1539_input_dev", serialise(_message(1539)))
    site.router().run_once()
    holding = site.holding()
    assert [m["messageHeader"]["errorCode"] for m in holding.pop("message_invalid_dev")] == [code]
    assert list(holding) == SERVICE_OUTPUTS


def test_a_message_without_room_for_the_entry_goes_on_as_it_is(site: Site) -> None:
    """The history never makes a message too large."""
    message = _message(1539)
    room = MAX_MESSAGE_BYTES - len(serialise(message)) - 3
    message["messageBody"]["objectTitle"] += "x" * room
    site.put("institute_1539_input_dev", serialise(message))
    site.router().run_once()
    assert site.holding()[SERVICE_OUTPUTS[0]] == [message]


def test_a_restarted_router_goes_on_where_it_was(site: Site) -> None:
    """Nothing is routed twice by a router that was stopped in order."""
    site.put("institute_1539_input_dev", serialise(_message(1539)))
    assert site.router().run_once() == 1
    site.put("institute_1539_input_dev", serialise(_message(1539)))
    assert site.router().run_once() == 1
    assert len(site.holding()[SERVICE_OUTPUTS[0]]) == 2


def test_a_router_killed_before_publishing_loses_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written down is published by the next one, and not routed again."""

    class Killed(BaseException):
        pass

    router_thread, publish_many = threading.get_ident(), MemoryChannel.publish_many

    def killed(channel: MemoryChannel, entries: Any) -> Any:
        # The loaders of the sandbox publish as well, on threads of their own.
        if threading.get_ident() == router_thread:
            raise Killed
        return publish_many(channel, entries)

    site.put("institute_1539_input_dev", serialise(_message(1539)))
    router = site.router()
    with monkeypatch.context() as patched:
        patched.setattr(MemoryChannel, "publish_many", killed)
        with pytest.raises(Killed):
            router.run_once()
    assert site.holding() == {}
    site.router().run_once()
    assert {name: len(messages) for name, messages in site.holding().items()} == dict.fromkeys(
        SERVICE_OUTPUTS, 1
    )


def test_an_embedded_sandbox_routes_by_itself_also_after_a_reset() -> None:
    """Put to an institution's input, read from the services' output; the same in streams made anew."""
    clock = Clock()
    settings = Settings(aws_port=0, control_port=0, data_dir=None, seed=7, topology=RDSS_TOPOLOGY)
    with embedded(settings) as emulator, routing(emulator, RDSS_ROUTES):
        engine, home = emulator.components.streams, emulator.components.home
        client = AwsEndpoint(emulator.aws, settings.region).kinesis()
        arrived = MemoryChannel(engine, SERVICE_OUTPUTS[0], clock=clock, scope=home)
        for _ in range(2):
            data = serialise(_message(1539))
            client.put_record(StreamName="institute_1539_input_dev", Data=data, PartitionKey="a")
            assert len(arrived.read(wait=20)) == 1
            emulator.components.reset()
            arrived = MemoryChannel(engine, SERVICE_OUTPUTS[0], clock=clock, scope=home)
        client.close()
