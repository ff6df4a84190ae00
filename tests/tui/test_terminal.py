"""What others set does not drive the terminal of whoever has the TUI open."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from rich.segment import Segment
from textual.color import Color

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import AsyncClient, Client
from rdss_sandbox.shapes.faults import NewFault
from tests.tui.app_pilot import opened, see, text_of, until
from tui.app import SandboxApp
from tui.text.visible_filter import VisibleFilter

EVIL = "\x1b]52;c;cm0gLXJmIH4K\x07\x1b[2J\u202e\x9b7m\x08\x85\u2066\x7f"


@pytest.fixture
def visited() -> Iterator[Embedded]:
    """A sandbox with the same in every field of messages, in faults, keys of objects and names."""
    settings = Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)
    names = ("messageId", "correlationId", "messageClass", "messageType", "errorCode", "errorDescription")
    header = {**dict.fromkeys(names, EVIL), EVIL: {EVIL: EVIL}}
    message = json.dumps({"messageHeader": header, "messageBody": {EVIL: EVIL}})
    with embedded(settings) as emulator, Client(emulator.control) as client:
        streams, home = emulator.components.streams, emulator.components.home
        for stream in ("input", "error", "invalid"):
            for data in (message.encode(), EVIL.encode()):
                record = {"StreamName": stream, "PartitionKey": EVIL, "Data": data}
                streams.call("PutRecord", record, home)
        emulator.components.amqp.record("q" + EVIL, [(message.encode(), EVIL)])
        emulator.components.buckets.client().put_object(
            Bucket="rdss-error", Key="k" + EVIL, Body=EVIL.encode()
        )
        client.add_fault(NewFault(type="error", channel=EVIL, attributes={"message": EVIL}))
        yield emulator


async def test_no_screen_has_what_a_terminal_obeys(visited: Embedded) -> None:
    """It is shown as escapes in the list of messages; every screen and a whole message are free of it."""
    async with opened(AsyncClient(visited.control)) as pilot:
        await see(pilot, "\\u001b]52")
        for screen in SandboxApp.MODES:
            pilot.app.switch_mode(screen)
            await pilot.pause(0.3)
            shown = text_of(pilot)
            assert all(each.isprintable() or each == "\n" for each in shown), (screen, shown)
        pilot.app.switch_mode("streams")
        await pilot.press("enter")
        for _ in range(4):
            await pilot.press("right")
            await until(pilot, lambda: text_of(pilot))
            assert all(each.isprintable() or each == "\n" for each in text_of(pilot))


def test_whatever_a_widget_lets_through_does_not_reach_the_terminal() -> None:
    """The last look takes out what has no width, so that the line keeps its own."""
    kept = [Segment("plain é 漢"), Segment("\x1b[2J", None, [(1,)])]  # type: ignore[list-item]
    segments = VisibleFilter().apply([Segment(f"a{EVIL}b"), *kept], Color(0, 0, 0))
    assert segments == [Segment("a]52;c;cm0gLXJmIH4K[2J7mb"), *kept]
