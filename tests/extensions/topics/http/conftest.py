"""A topics port of its own for each test, and clients of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from emulator.clock import Clock
from extensions.topics.topic_configuration import TopicConfiguration
from tests.extensions.topics.http.topics_port import KEYED, Port


@pytest.fixture
async def opened() -> AsyncIterator[Callable[..., Any]]:
    """Open a port with some configuration and clock; closed after the test."""
    ports: list[Port] = []

    async def begin(configuration: TopicConfiguration = KEYED, clock: Clock | None = None) -> Port:
        ports.append(Port(configuration, clock or Clock()))
        await ports[-1].begin()
        return ports[-1]

    yield begin
    for port in ports:
        await port.end()
        assert not port.failures


@pytest.fixture
async def port(opened: Callable[..., Any]) -> Port:
    """A port with the topic ``orders``, keyed by ``/id`` and logged."""
    found: Port = await opened()
    return found
