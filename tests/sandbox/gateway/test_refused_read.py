"""Who asks for an object gets it where they want it, or is told at once that there is none."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.channels.kinds import Queues
from emulator.clock import Clock, stopwatch
from emulator.rng import new_uuid
from sandbox.applications import InstitutionalRepository
from sandbox.gateway import (
    Gateway,
    GatewaySettings,
    Machine,
    MetadataGateway,
    ReadRefusedError,
    open_gateway,
)
from sandbox.gateway.addresses import Addresses
from sandbox.gateway.metadata import open_queues
from sandbox.gateway.outbox import Outbox
from sandbox.receiver import MemoryOriginals
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.repository import Repository
from schemas.rdss.samples import Samples

SETTINGS = GatewaySettings(queue="mock", receive="replies", retry_interval=0.02, timeout=60)
CHANNELS = ("input", "output", "replies", "error", "invalid")


@pytest.fixture
def queues(tmp_path: Path) -> Iterator[Queues]:
    """The channels of a broker, and an institutional repository that reads one and answers on the others."""
    clock = Clock()
    with closing(open_queues(SETTINGS, clock)) as opened:
        for name in CHANNELS:
            opened.channel(name).close()
        ended = threading.Event()
        thread = threading.Thread(target=_answer, args=(opened, tmp_path, clock, ended))
        thread.start()
        yield opened
        ended.set()
        thread.join()


def _answer(queues: Queues, folder: Path, clock: Clock, ended: threading.Event) -> None:
    with closing(Repository(folder / "repository.sqlite3", clock)) as repository:
        addresses = Addresses(lambda: CHANNELS, queues.channel, repository, clock, others=("output",))
        outbox = Outbox(
            Gateway(queues.channel("output"), repository, clock),
            clock,
            generator="Simulated institutional repository",
            machine=Machine("repository", "localhost"),
            addresses=addresses,
        )
        application = InstitutionalRepository(repository, outbox, clock)
        with assembled_receiver(
            queues.channel,
            MemoryOriginals(),
            stream="input",
            repository=repository,
            application=application,
            clock=clock,
            refused=application.refuse,
        ) as receiver:
            while not ended.is_set():
                receiver.step(wait=0.05)
                outbox.flush()


def _read(gateway: MetadataGateway, uuid: str) -> dict[str, Any]:
    """Once the create has overtaken the request: they are on two shards."""
    for _ in range(100):
        with contextlib.suppress(ReadRefusedError):
            return gateway.read(uuid)
    raise AssertionError(f"{uuid} was never there")


def test_a_read_is_answered_or_refused_at_once(queues: Queues, tmp_path: Path) -> None:
    """On the channel that the gateway names; APPERRMET003 is raised as such, and nobody waits for the end."""
    clock = Clock()
    work = Samples(5).message("MetadataCreate", "software")["messageBody"]
    with (
        closing(Repository(tmp_path / "asking.sqlite3", clock)) as repository,
        open_gateway(SETTINGS, repository, clock, queues) as gateway,
    ):
        created = gateway.create(work)
        assert _read(gateway, created.object_uuid) == {**work, "objectUUID": created.object_uuid}
        began, unknown = stopwatch(), new_uuid()
        with pytest.raises(ReadRefusedError, match=f"APPERRMET003: there is no object {unknown}") as refused:
            gateway.read(unknown)
    assert refused.value.code == "APPERRMET003"
    assert stopwatch() - began < SETTINGS.timeout / 2
    with closing(queues.channel("output")) as channel:
        assert channel.read() == []
    with closing(queues.channel("replies")) as channel:
        headers = [msgspec.json.decode(each.data)["messageHeader"] for each in channel.read()]
    assert {header["messageClass"] for header in headers} == {"Document", "Event"}
