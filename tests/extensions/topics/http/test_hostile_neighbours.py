"""Hostile neighbours of topics: upstreams that send too much, and downstreams that must not be called."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emulator.clock import Clock, stopwatch
from emulator.destinations import Destinations
from extensions.topics.engine.replication import MOST_SOURCES, Shipment
from extensions.topics.engine.topic_definitions import BadDefinitionError
from extensions.topics.replication_links import TopicLinks
from rdss_sandbox.shapes.topics import Downstream
from tests.extensions.topics.http.topics_port import SECONDS, Port


@pytest.mark.parametrize(
    "shipment",
    [
        {"source": "x" * 65, "after": 0, "upto": 5},
        {
            "source": "x",
            "after": 0,
            "upto": 5,
            "entries": [[n, ["published", "orders", 1.0]] for n in range(1001)],
        },
    ],
)
async def test_a_shipment_is_as_long_as_an_upstream_makes_them(port: Port, shipment: dict[str, Any]) -> None:
    """Everybody else waits for what it costs to take one over, and its source is remembered."""
    answer = await port.http.post("/topics/replication", json=shipment)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_shipment")


async def test_as_many_sources_are_remembered_as_anybody_has(port: Port) -> None:
    """One more is refused with the number; those that are known go on."""
    for number in range(MOST_SOURCES):
        port.service.open().replication.receive("u", Shipment(str(number), 0, 1))
    receive = port.service.open().replication.receive
    assert str(MOST_SOURCES) in receive("u", Shipment("another", 0, 1)).refused
    assert receive("u", Shipment("7", 1, 2)).number == 2


@pytest.mark.parametrize("url", ["http://169.254.169.254", "http://[fe80::1]", "http://2852039166"])
async def test_a_downstream_is_nobody_who_must_not_be_called(port: Port, url: str) -> None:
    """Neither when it is named, nor where a file names it: then nothing is sent, and its state says why."""
    with pytest.raises(BadDefinitionError, match="link-local"):
        port.service.point((Downstream(name="b", url=url),))
    port.service.open().replication.point((Downstream(name="b", url=url),))
    links = TopicLinks(port.service.open().replication, Destinations(), port.failures.append)
    links.start((Downstream(name="b", url=url),))

    def why() -> str:
        return port.service.open().replication.links()[0].why

    began, machine = stopwatch(), Clock()
    while "link-local" not in why():
        assert stopwatch() - began < SECONDS, why()
        await asyncio.to_thread(machine.wait, 0.02)
    await asyncio.to_thread(links.close)
    assert port.failures == []
