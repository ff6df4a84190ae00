"""Screens of the TUI in front of a seeded sandbox, as SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from emulator.assembly.embedded import embedded
from emulator.clock import Clock
from emulator.settings.settings import Settings
from rdss_sandbox.client import AsyncClient, Client
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.messages import NewMessage
from rdss_sandbox.shapes.streams import Reshard
from sandbox.control.scenarios import ScenarioResources
from schemas.rdss.decoration import decorate
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from tests.tui.app_pilot import see, until
from tests.waiting import wait_until
from tui.app import SandboxApp
from tui.keys.preferences import Preferences
from tui.widgets.row_list import RowList


class ShownScreen(NamedTuple):
    """A picture of a page: the keys that lead to the screen, what is on it then, and the keys after that."""

    keys: tuple[str, ...]
    there: tuple[str, ...]
    more: tuple[str, ...] = ()
    size: tuple[int, int] = (140, 36)
    theme: str = "sandbox-dark"


SCREENS: Final = {
    "streams": ShownScreen(("1",), ("0003", "GENERR010", "resharded", "most")),
    "errors": ShownScreen(("4",), ("GENERR003", "GENERR006", "GENERR010", "Its messages go to")),
    "faults": ShownScreen(("5",), ("expire_iterator", "resharded", "Shards split, merge")),
    "run": ShownScreen(("7", "down", "s", "7", "enter"), ("the verdict comes at the end",), ("n",) * 3),
    "light": ShownScreen(("4",), ("GENERR003", "Its messages go to"), size=(120, 30), theme="sandbox-light"),
    "small": ShownScreen(("1",), ("0003", "message id"), size=(80, 24)),
}
"""The screens that the pages show."""
_SEED: Final = 7
_TIME: Final = 1_790_000_000.0
"""Where the sandbox's clock stands, in seconds since the epoch: the messages are published then."""


async def take_screens() -> dict[str, str]:
    """Each of the screens over the same sandbox: messages, a split, duplicates, and some rejected."""
    with seeded_sandbox() as control:
        return {name: await _take(screen, control) for name, screen in SCREENS.items()}


@contextmanager
def seeded_sandbox() -> Iterator[str]:
    """A sandbox of which screens are alike each time, by the address of its control API."""
    settings = Settings(aws_port=0, control_port=0, amqp="none", data_dir=None, seed=_SEED)
    clock = Clock(frozen_at=_TIME)
    with TemporaryDirectory() as runs:
        more = [lambda parts: ScenarioResources(parts.events, Path(runs))]
        with embedded(settings, clock, more=more) as sandbox:
            with Client(sandbox.control) as client:
                _populate(client, clock)
            yield sandbox.control


async def _take(screen: ShownScreen, control: str) -> str:
    """The screen as SVG, once nothing changes on it any more."""
    app = SandboxApp(AsyncClient(control), Preferences(theme=screen.theme))
    async with app.run_test(size=screen.size) as pilot:
        await until(pilot, lambda: app.snapshot is not None)
        for key in screen.keys:
            rows = app.screen.query(RowList)
            await until(pilot, lambda rows=rows: not rows or any(each.current is not None for each in rows))
            await pilot.press(key)
            await pilot.pause()
        await see(pilot, *screen.there)
        await pilot.press(*screen.more)
        picture, before = app.export_screenshot(title="sandbox tui"), ""
        while words(picture) != words(before):
            await pilot.pause(0.3)
            picture, before = app.export_screenshot(title="sandbox tui"), picture
        return re.sub(r"@font-face \{.*?\}\n?", "", picture, flags=re.DOTALL)


def words(svg: str) -> set[str]:
    """The words in a picture, without what differs from time to time: numbers, bars, times."""
    texts = (unescape(each) for each in re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    return {word for text in texts for word in re.findall(r"[A-Za-z]{2,}", text)}


def _populate(client: Client, clock: Clock) -> None:
    client.buckets()  # what that starts is told of in the list of events, so it comes first each time
    samples = Samples(_SEED, now=_TIME)
    client.add_fault(NewFault(type="duplicate", channel="input", when={"every": 4}))
    for number in range(20):
        clock.advance(1)
        if number == 10:
            _reject(client, clock, samples)
            client.reshard("input", Reshard("split", "shardId-000000000000"))
        client.send(NewMessage("input", serialise(samples.message())))


def _reject(client: Client, clock: Clock, samples: Samples) -> None:
    """Put messages on the error and the invalid queue, each once the events tell of the one before."""

    def told() -> int:
        events = client.events(after=0, limit=1000)
        arrived = (each.fields["messages"] for each in events if each.kind == "queue.messages_arrived")
        return sum(each.kind == "message.rejected" for each in events) + sum(map(len, arrived))

    for number, code in enumerate((ErrorCode.GENERR003, ErrorCode.GENERR006, ErrorCode.GENERR010), start=1):
        clock.advance(1)
        rejected = decorate(serialise(samples.message()), code, code.description, now=clock.time())
        client.send(NewMessage(code.queue.value, rejected))
        wait_until(lambda most=2 * number: told() >= most)
