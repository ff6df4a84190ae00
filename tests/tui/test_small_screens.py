"""At 80x24, on a real sandbox: what the large screen has beside its lists is one key away.

The footer says which key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from textual.pilot import Pilot

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import AsyncClient, Client
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.messages import NewMessage
from rdss_sandbox.shapes.processing import NewAsyncMessage
from sandbox.control.scenarios import ScenarioResources
from schemas.rdss.decoration import decorate
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split
from tests.taken_out import needs
from tests.tui.app_pilot import NARROW, opened, see, text_of, until
from tui.keys.actions import places
from tui.screens.run_player import RunScreen
from tui.widgets.row_list import RowList

# A TUI for each way: half a minute of processor time.
pytestmark = pytest.mark.slow

IDS = (f"{number:08x}-0000-4000-8000-000000000000" for number in range(10))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """A whole sandbox with something on every screen."""
    runs = tmp_path_factory.mktemp("runs")
    more = [lambda parts: ScenarioResources(parts.events, runs)]
    with embedded(Settings(aws_port=0, control_port=0, amqp="none", data_dir=None), more=more) as emulator:
        with Client(emulator.control) as client:
            fill(client)
            if topics := emulator.components.extensions.get("topics"):
                topics.publish("objects", b'{"objectUUID": "a", "sizes": [7]}')
            if "processing" in emulator.components.extensions:
                new = NewAsyncMessage("metadata", "create", body='{"colour": "red"}', object_id="1")
                client.processing.receive(new)
        yield emulator


def fill(client: Client) -> None:
    """A struck message on input, a refused one, one with a part missing, and one that was processed."""
    client.add_fault(NewFault("duplicate", channel="input", attributes={"copies": 2}))
    samples = Samples(7)
    client.send(NewMessage("input", serialise(samples.message())))
    refused = decorate(serialise(samples.message()), ErrorCode.GENERR006, "no luck", now=client.clock().time)
    client.send(NewMessage("error", refused))
    parts = split(samples.big_message(3), new_id=lambda: next(IDS))
    for data in (parts[0], parts[2]):
        client.send(NewMessage("output", data))
    client.drain_audit()


def footer_of(pilot: Pilot[Any]) -> str:
    return text_of(pilot).rpartition("\n")[2]


class Way(NamedTuple):
    """A screen, the list with the focus, the key and its name in the footer, and what is then to be read."""

    mode: str
    pane: str
    key: str
    hint: str
    text: str


WAYS = (
    Way("streams", "MessageList", "r", "r Readers", "read by"),
    Way("streams", "MessageList", "v", "v Events", " happened "),
    Way("streams", "MessageList", "p", "p Plots", "records/s"),
    Way("streams", "#happened", "enter", "⏎ Open", '"kind": '),
    Way("streams", "MessageList", "l", "l Life line", "published"),
    Way("sequences", "#list", "enter", "⏎ Open", '"positions": ['),
    Way("sequences", "SequenceDetail RowList", "enter", "⏎ Open", '"partition_key": '),
    Way("audit", "MessageList", "enter", "⏎ Open", "messageHeader"),
    Way("buckets", "#entries", "enter", "⏎ Open", "rdss-audit/"),
    Way("scenarios", "#library", "w", "w Why", "What must come of it. "),
    Way("errors", "MessageList", "enter", "⏎ Open", "no luck"),
    Way("faults", "#in-force", "enter", "⏎ Open", '"copies": 2'),
)


OF_EXTENSIONS = (
    Way("queues", "#messages", "enter", "⏎ Open", '"messageHeader": {'),
    Way("topics", "#records", "enter", "⏎ Open", '"sizes": ['),
    Way("processing", "#asynchronous", "enter", "⏎ Open", "colour"),
)


@pytest.mark.parametrize(
    "way",
    [*WAYS, *(pytest.param(way, marks=needs(way.mode)) for way in OF_EXTENSIONS)],
    ids=lambda way: f"{way.mode}-{way.hint}",
)
async def test_what_a_small_screen_hides_is_one_key_away(running: Embedded, way: Way) -> None:
    """The footer names the key, the text is not on the screen before, and is after it."""
    mode, pane, key, hint, text = way
    async with opened(AsyncClient(running.control), size=NARROW) as pilot:
        pilot.app.switch_mode(mode)
        if pane == "#happened":
            await pilot.press("v")
        await until(pilot, lambda: pilot.app.current_mode == mode)
        await until(pilot, lambda: pilot.app.screen.query(pane).first(RowList).current is not None)
        rows = pilot.app.screen.query(pane).first(RowList)
        rows.focus()
        await until(pilot, lambda: pilot.app.focused is rows and hint in footer_of(pilot))
        assert text not in text_of(pilot)
        await pilot.press(key)
        await see(pilot, text)


async def test_a_small_run_says_why_and_how_it_came_out(running: Embedded) -> None:
    """w brings what the run teaches, G its end with the verdict; the footer has w."""
    async with opened(AsyncClient(running.control), size=NARROW) as pilot:
        await pilot.press("7")
        await see(pilot, "happy-path")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, RunScreen))
        await until(pilot, lambda: "w Why" in footer_of(pilot))
        await see(pilot, "the verdict comes at the end")
        await pilot.press("w")
        await see(pilot, "What happens.")
        await pilot.press("w")
        await until(pilot, lambda: pilot.app.focused is not None)
        await pilot.press("G")
        await see(pilot, "pass")


async def test_every_screen_is_named_and_helps_at_every_size(running: Embedded) -> None:
    """From the top line one reads where one can go, and from the footer how to get help, at any size."""
    async with opened(AsyncClient(running.control), size=NARROW) as pilot:
        for width, height in ((80, 24), (100, 30), (120, 40)):
            await pilot.resize_terminal(width, height)
            for key, mode, label in places():
                pilot.app.switch_mode(mode)
                await until(pilot, lambda mode=mode: pilot.app.current_mode == mode)
                await see(pilot, f" {key} {label[:3]}", "? Help")
                top = text_of(pilot).splitlines()[0]
                assert [name[:3] for _, _, name in places() if f" {name[:3]}" not in top] == []
