"""Every screen in front of a real sandbox with real data on it: what is there is what is shown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulator.client import AsyncClient, Client
from emulator.embedded import embedded
from emulator.resources import NewMessage
from emulator.settings import Settings
from schemas.envelope import serialise
from schemas.samples import Samples
from tests.tui.conftest import opened, text_of, until
from tui.widgets.message_list import MessageList


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with embedded(Settings(aws_port=0, control_port=0, amqp="off", data_dir=None)) as emulator:
        yield emulator.control


@pytest.fixture
def sandbox(url: str) -> Iterator[Client]:
    """A sandbox with nothing in it."""
    with Client(url) as client:
        client.reset()
        yield client


async def test_audit(sandbox: Client, url: str) -> None:
    """Every message that was dispatched is listed with the stream it came from."""
    made = [serialise(Samples(1).message()) for _ in range(3)]
    for data, stream in zip(made, ("input", "output", "error"), strict=True):
        sandbox.send(NewMessage(stream, data))
    sandbox.drain_audit()
    async with opened(AsyncClient(url)) as pilot:
        await pilot.press("3")
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 3)
        await until(pilot, lambda: "3 messages   from the stream audit" in text_of(pilot))
        print(text_of(pilot))
        await pilot.press("b")
        await until(pilot, lambda: "3 messages   from the bucket rdss-audit" in text_of(pilot))
        print(text_of(pilot))
        assert 0
