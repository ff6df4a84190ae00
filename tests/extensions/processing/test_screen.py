"""The processing screen: messages by state, the life of one in time, restart and cancel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from rdss_sandbox.client import RefusedError
from tests.extensions.processing.canned_processing import CannedWithProcessing
from tests.tui.app_pilot import NARROW, WIDE, answer, notices, opened, see, show_screens, text_of, until
from tui.app import SandboxApp
from tui.keys.preferences import Preferences
from tui.widgets.row_list import RowList

KEY = "0"


def rows(pilot: Pilot[Any], name: str) -> RowList[Any]:
    return pilot.app.screen.query_one(f"#{name}", RowList)


async def test_the_newest_message_is_shown_with_its_life() -> None:
    """Every message with its state; of one the changes and calls in time, and the systems that are called."""
    async with opened(CannedWithProcessing()) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: rows(pilot, "asynchronous").total == 12)
        await until(pilot, lambda: "12 is SKIPPED, metadata.create; you can cancel it" in text_of(pilot))
        await see(pilot, "failed for now", "preservation OK", "500, down 60s")
        await pilot.press("down")
        await until(pilot, lambda: "11 is PROCESSING" in text_of(pilot))


async def test_messages_are_found_by_fields_and_words() -> None:
    """/ asks, escape drops it; the same for a shell is shown; a state that nobody knows is told."""
    canned = CannedWithProcessing()
    async with opened(canned) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: rows(pilot, "asynchronous").total == 12)
        await pilot.press("slash")
        await answer(pilot, "state:failed green invoice")
        await until(pilot, lambda: rows(pilot, "asynchronous").total == 2)
        asked = {"state": "FAILED", "text": "green invoice", "limit": 500}
        assert asked in canned.processing.asked
        command = "sandbox process list --state 'FAILED' --text 'green invoice'"
        assert pilot.app.command == command  # type: ignore[attr-defined]
        await pilot.press("escape")
        await until(pilot, lambda: rows(pilot, "asynchronous").total == 12)
        await pilot.press("slash")
        await answer(pilot, "state:lost")
        await until(pilot, lambda: any("state is 'LOST'" in said for said in notices(pilot)))


@pytest.mark.parametrize(
    ("downs", "key", "done", "command"),
    [
        (4, "r", "partial 8", "sandbox process restart 8"),
        (4, "R", "total 8", "sandbox process restart 8 --total"),
        (1, "delete", "cancel 11", "sandbox process cancel 11"),
    ],
)
async def test_a_message_is_restarted_or_cancelled_once_it_was_confirmed(
    downs: int, key: str, done: str, command: str
) -> None:
    """n leaves it as it is, y does it, and the command that does the same is shown."""
    canned = CannedWithProcessing()
    number = done.rpartition(" ")[2]
    async with opened(canned) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: rows(pilot, "asynchronous").total == 12)
        await pilot.press(*["down"] * downs)
        await until(pilot, lambda: f"{number} is " in text_of(pilot))
        await pilot.press(key, "n")
        assert canned.processing.done == []
        await pilot.press(key)
        await until(pilot, lambda: f"Message {number}." in text_of(pilot))
        await pilot.press("y")
        await until(pilot, lambda: canned.processing.done == [done])
        await until(pilot, lambda: pilot.app.command == command)  # type: ignore[attr-defined]


async def test_what_cannot_be_done_is_said_in_the_sandboxs_words() -> None:
    """A message that has not ended is not restarted."""
    async with opened(CannedWithProcessing()) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: "12 is SKIPPED" in text_of(pilot))
        await pilot.press("r", "y")
        await until(pilot, lambda: "a message that is SKIPPED cannot be restarted" in notices(pilot))


async def test_a_sandbox_without_processing_says_so_once() -> None:
    """The other screens go on."""

    class Refusing(CannedWithProcessing):
        def __init__(self) -> None:
            super().__init__()
            self.processing.search = self._refuse  # type: ignore[method-assign]

        async def _refuse(self, **_: Any) -> Any:
            raise RefusedError(404, "not_found", "there is nothing at /processing/messages")

    async with opened(Refusing()) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: "there is nothing at /processing/messages" in notices(pilot))
        await pilot.press("1", KEY, "1")
        assert notices(pilot).count("there is nothing at /processing/messages") == 1


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=str)
def test_the_screen_looks_as_it_did(
    monkeypatch: pytest.MonkeyPatch, snap_compare: Callable[..., bool], size: tuple[int, int]
) -> None:
    """Messages with their states, the systems, the life of one as a waterfall, and the rest of it."""
    show_screens(monkeypatch, "processing")
    app = SandboxApp(CannedWithProcessing(), Preferences(theme="sandbox-dark"))  # type: ignore[arg-type]

    async def run(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.snapshot is not None)
        await pilot.press(KEY)
        await until(pilot, lambda: "12 is SKIPPED" in text_of(pilot))
        await pilot.pause(0.1)

    assert snap_compare(app, terminal_size=size, run_before=run)
