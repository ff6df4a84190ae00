"""The three types of queue, each with channels of its own for every test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from emulator.assembly.embedded import embedded
from emulator.channels.kinds import Queues
from emulator.clock import Clock
from emulator.rng import new_uuid
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.gateway import GatewaySettings, MetadataGateway, open_gateway
from sandbox.gateway.metadata import open_queues
from sandbox.repository import Repository

CHANNELS = ("send", "receive", "error", "invalid")


class Exchange:
    """One type of queue: its settings, an open connection to it, and an application's gateway."""

    def __init__(
        self, settings: GatewaySettings, queues: Queues, names: dict[str, str], folder: Path
    ) -> None:
        self.settings = settings
        self.queues = queues
        self.names = names
        self.folder = folder
        self.clock = Clock()

    def gateway(self, repository: Repository, **change: object) -> AbstractContextManager[MetadataGateway]:
        """An application's gateway, with some settings changed."""
        settings = replace(self.settings, **change)
        return open_gateway(settings, repository, self.clock, self.queues)

    def repository(self, name: str) -> Repository:
        return Repository(self.folder / f"{name}.sqlite3", self.clock)


@pytest.fixture(scope="session")
def kinesis_url() -> Iterator[str]:
    settings = Settings(aws_port=0, control_port=0, data_dir=None, seed=1, topology=Topology())
    with embedded(settings) as running:
        yield running.aws


def opened(queue: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[Exchange]:
    address = {"kinesis": "kinesis_url", "rabbitmq": "broker_url"}.get(queue)
    url = request.getfixturevalue(address) if address else ""
    names = {name: f"{name}-{new_uuid()[:8]}" for name in CHANNELS}
    settings = msgspec.convert(
        {"queue": queue, "address": url, "send": names["send"], "receive": names["receive"]}
        | {"retry_interval": 0.02, "tenant": 89, "generator": "a repository"},
        GatewaySettings,
    )
    queues = open_queues(settings, Clock())
    if queue == "kinesis":
        kinesis = AwsEndpoint(url, settings.region).kinesis()
        for name in names.values():
            kinesis.create_stream(StreamName=name, ShardCount=2)
        kinesis.close()
    yield Exchange(settings, queues, names, folder)
    queues.close()


@pytest.fixture(params=["mock", "kinesis", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def exchange(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Exchange]:
    """Each type of queue in turn."""
    yield from opened(request.param, request, tmp_path)


@pytest.fixture(params=["mock", "kinesis"])
def streams(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Exchange]:
    """Each type that has shards, in turn."""
    yield from opened(request.param, request, tmp_path)
