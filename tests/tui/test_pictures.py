"""Pictures of every screen, so that no change to how they look goes unseen.

``pytest tests/tui/test_pictures.py --snapshot-update`` takes them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.app_pilot import NARROW, WIDE, show_screens, until
from tests.tui.canned import Canned
from tests.tui.canned_readings import CannedReadings
from tui.app import SandboxApp
from tui.keys.actions import ACTIONS, ActionGroup
from tui.keys.preferences import Preferences
from tui.screens.run_player import RunScreen
from tui.widgets import banner
from tui.widgets.message_detail import MessageDetailPane
from tui.widgets.row_list import RowList
from tui.widgets.waterfall import Waterfall

LIGHT, DARK = "sandbox-light", "sandbox-dark"
KEYS = {
    "streams": (),
    "detail": ("enter",),
    "history": ("l",),
    "filter": ("slash",),
    "sequences": ("2",),
    "audit": ("3",),
    "errors": ("4",),
    "faults": ("5",),
    "fault form": ("5", "a"),
    "buckets": ("6",),
    "scenarios": ("7",),
    "run": ("7", "enter", "n", "n", "n", "n"),
    "readers": ("r",),
    "help": ("question_mark",),
}
SCREENS = ("streams", "sequences", "audit", "errors", "faults", "buckets", "scenarios", "run")
SEEN = [
    *((name, DARK, WIDE) for name in KEYS if name != "readers"),
    ("streams", DARK, NARROW),
    ("streams", LIGHT, WIDE),
    *(
        pytest.param(name, DARK, NARROW, marks=pytest.mark.slow)
        for name in (*SCREENS[1:], "readers", "detail")
    ),
    *(pytest.param(name, LIGHT, WIDE, marks=pytest.mark.slow) for name in (*SCREENS[1:], "detail")),
    pytest.param("streams", LIGHT, NARROW, marks=pytest.mark.slow),
]
"""Each screen is seen dark and wide, and Streams also small, and light; the rest is slow."""


GROUPS = (
    *(
        ActionGroup.EVERYWHERE,
        ActionGroup.LIST,
        ActionGroup.MESSAGES,
        ActionGroup.MESSAGE,
        ActionGroup.STREAMS,
        ActionGroup.SEQUENCES,
    ),
    *(ActionGroup.ERRORS, ActionGroup.FAULTS, ActionGroup.BUCKETS, ActionGroup.SCENARIOS, ActionGroup.RUN),
)


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A screen that is added later has pictures of its own, and is no reason to take every other anew.

    How often the sandbox was asked before the picture is no matter of it either.
    """
    show_screens(monkeypatch)
    shown = {f"everywhere.go_{mode}" for _, mode, _ in banner.places()}
    ours = [each for each in ACTIONS if each.group in GROUPS]
    helped = tuple(each for each in ours if each.id in shown or not each.id.startswith("everywhere.go_"))
    monkeypatch.setattr("tui.dialogs.help.ACTIONS", helped)
    monkeypatch.setattr("tui.widgets.stream_tree.Readings", CannedReadings)


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until every list on the screen has its rows, and a message that is opened is there."""
    app = pilot.app
    app.screen.query("*").set(disabled=False)
    for rows in app.screen.query(RowList):
        if rows._source is not None and rows.id != "list":
            await until(pilot, partial(_told, rows))
    for detail in app.screen.query(MessageDetailPane):
        if detail.display:
            await until(pilot, partial(_there, detail))
    for line in app.screen.query(Waterfall):
        if line.region.area:
            await until(pilot, partial(_is_whole, line))
    for library in app.screen.query("#library").results(RowList):
        await until(pilot, partial(_came, library))
    for _ in range(5):
        await pilot.pause(0.02)


def _came(rows: RowList[Any]) -> bool:
    return rows.current is not None


def _told(rows: RowList[Any]) -> bool:
    return rows._last_report[0] >= 0 or rows.total == 0


def _is_whole(line: Waterfall) -> bool:
    """Whether reads and audit copies have come, which are fetched after the message."""
    return any(hop.place.startswith("bucket") for page in line._pages._held.values() for hop in page.values())


def _there(detail: MessageDetailPane) -> bool:
    return detail.detail is not None


@pytest.mark.parametrize(("name", "theme", "size"), SEEN, ids=lambda value: str(value).replace(" ", ""))
def test_screen(snap_compare: Callable[..., bool], name: str, theme: str, size: tuple[int, int]) -> None:
    """The screen looks as it did."""
    app = SandboxApp(Canned(), Preferences(theme=theme))  # type: ignore[arg-type]

    async def run(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.snapshot is not None)
        for key in KEYS[name]:
            await settled(pilot)
            await pilot.press(key)
            if (name, key) == ("run", "enter"):
                await until(pilot, lambda: isinstance(app.screen, RunScreen) and _came(app.screen.events))
        for field in app.screen.query("Input"):
            field.cursor_blink = False  # type: ignore[attr-defined]
        await settled(pilot)

    assert snap_compare(app, terminal_size=size, run_before=run)
