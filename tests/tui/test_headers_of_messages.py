"""The screens in front of a sandbox whose messages came over AMQP, with headers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pika
import pytest
from textual.widgets import TextArea

from rdss_sandbox.client import AsyncClient
from rdss_sandbox.testing import Sandbox
from tests.tui.app_pilot import notices, opened, see, until
from tui.dialogs.edit import Edit
from tui.dialogs.prompt import Prompt
from tui.widgets.message_detail import MessageDetailPane
from tui.widgets.message_list import MessageList

_DOCUMENT = Path(__file__).parents[1] / "sandbox" / "contract" / "readings.yaml"
_HEADERS = {
    "cloudEvents:id": "reading-7",
    "cloudEvents:source": "/house",
    "cloudEvents:specversion": "1.0",
    "cloudEvents:type": "meter.read",
    "floor": 12,
}
_REFUSED = {"x-sandbox-rejected": {"code": "invalid", "why": "too high"}}


@pytest.fixture
def readings() -> Iterator[Sandbox]:
    """A sandbox with a reading, and with the same in the queue of what is refused."""
    with Sandbox(contract=str(_DOCUMENT), seed=3) as sandbox:
        with pika.BlockingConnection(pika.URLParameters(sandbox.amqp)) as connection:
            channel = connection.channel()
            properties = pika.BasicProperties(headers=_HEADERS)
            channel.basic_publish("meters", "meter.read", b'{"kwh":3}', properties)
            text = {"x-sandbox-headers": _HEADERS, "message": {"kwh": 3}}
            channel.basic_publish("", "readings.refused", json.dumps(_REFUSED | {"message": text}).encode())
        sandbox.wait_until(lambda: sandbox.client.messages(matching="-stream:audit").total == 2)
        yield sandbox


async def test_a_detail_has_the_headers_beside_the_message(readings: Sandbox) -> None:
    """The list has id and type from the headers; the body is what came without them."""
    async with opened(AsyncClient(readings.control), size=(200, 50)) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 2)
        await see(pilot, "meter.read", "reading-7")
        await pilot.press("home", "enter")
        await see(pilot, "cloudEvents:source  /house", "floor  12")
        detail = pilot.app.screen.query_one(MessageDetailPane).detail
        assert (detail.header, detail.body) == (_HEADERS, {"kwh": 3})


async def test_what_is_refused_is_edited_with_its_headers(readings: Sandbox) -> None:
    """The editor judges them; where it came from is no stream, and what sends it there is said."""
    async with opened(AsyncClient(readings.control), size=(200, 50)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: pilot.app.screen.query(MessageList).first().current is not None)
        await pilot.press("enter")
        await see(pilot, "floor  12")
        await pilot.press("E")
        await until(pilot, lambda: isinstance(pilot.app.screen, Edit))
        await see(pilot, "✗ invalid", "12 is greater than the maximum of 9")
        area = pilot.app.screen.query_one(TextArea)
        area.text = area.text.replace("12", "2")
        await see(pilot, "✓ meets the contract")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, Prompt))
        await see(pilot, "meters is no stream; for a queue: sandbox send --kind rabbitmq")


async def test_redriving_all_leaves_what_came_to_no_stream(readings: Sandbox) -> None:
    """It is counted, and the others go on."""
    async with opened(AsyncClient(readings.control), size=(200, 50)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: pilot.app.screen.query(MessageList).first().current is not None)
        await pilot.press("X")
        await see(pilot, "Send this message again")
        await pilot.press("enter")
        await until(pilot, lambda: notices(pilot))
        assert notices(pilot)[-1] == "sent 0 messages again; 1 had no stream to go back to"
