"""What the gateway makes of an application's changes, and its patience, on a clock moved by hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from emulator.channels.kind_registry import MemoryQueues
from emulator.channels.kinds import Broker
from emulator.clock import Clock
from emulator.rng import new_uuid
from sandbox.gateway import GatewaySettings, MetadataGateway, NoAnswerError, open_gateway
from sandbox.repository import Repository
from schemas.rdss.peek import peek
from schemas.rdss.samples import Samples

SETTINGS = GatewaySettings(queue="mock", timeout=30)


@pytest.fixture
def clock() -> Clock:
    return Clock(frozen_at=1_780_000_000.0)


@pytest.fixture
def queues(clock: Clock) -> Iterator[MemoryQueues]:
    with closing(MemoryQueues(Broker("", "", SETTINGS.timeout), clock)) as queues:
        yield queues


@pytest.fixture
def gateway(queues: MemoryQueues, clock: Clock, tmp_path: Path) -> Iterator[MetadataGateway]:
    with (
        closing(Repository(tmp_path / "application.sqlite3", clock)) as repository,
        open_gateway(SETTINGS, repository, clock, queues) as gateway,
    ):
        yield gateway


def a_work(*access: str) -> dict[str, Any]:
    work: dict[str, Any] = Samples(1).message("MetadataCreate", "software")["messageBody"]
    work["objectRights"]["access"] = [{"accessType": kind} for kind in access]
    return work


@pytest.mark.parametrize(
    ("before", "after", "published"),
    [
        (None, "open", "MetadataCreate"),
        (None, "closed", None),
        ("closed", "closed", None),
        ("closed", "open", "MetadataCreate"),
        ("open", "safeguarded", "MetadataUpdate"),
        ("open", "closed", "MetadataDelete"),
        ("closed open", "closed closed", "MetadataDelete"),
        ("closed", "closed restricted", "MetadataCreate"),
    ],
)
def test_what_is_published_of_a_change_is_settled_by_who_may_see_it(
    gateway: MetadataGateway, before: str | None, after: str, published: str | None
) -> None:
    """Confidential works stay unknown; made public they are created, made confidential they are deleted."""
    old = a_work(*before.split()) if before else None
    sent = gateway.changed(old, a_work(*after.split()))
    assert (sent and sent.message_type) == published
    if sent and published == "MetadataDelete":
        assert sent.object_uuid == a_work("open")["objectUUID"]
    elif sent:
        assert sent.object_uuid != a_work(after)["objectUUID"]


def test_a_read_gives_up_on_the_clock(gateway: MetadataGateway, queues: MemoryQueues, clock: Clock) -> None:
    """It waits while the clock stands and ends when the time-out has passed; its request has expired then."""
    ended: list[Exception] = []

    def read() -> None:
        try:
            gateway.read(new_uuid())
        except NoAnswerError as error:
            ended.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    with closing(queues.channel("input")) as channel:
        while not (found := channel.read()):
            thread.join(0.01)
    assert thread.is_alive()
    expires = peek(found[0].data).expires
    while thread.is_alive():
        clock.advance(31)
        thread.join(0.05)
    assert len(ended) == 1
    assert expires == "2026-05-28T20:27:10.000Z"
