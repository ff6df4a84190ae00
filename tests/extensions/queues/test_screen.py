"""The queues screen: what is in each, who holds what and for how long still."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from extensions.queues.columns import remaining
from rdss_sandbox.client import AsyncClient
from rdss_sandbox.shapes.queues import Claim
from sandbox.scenarios.scenario import find_scenario
from sandbox.scenarios.scenario_run import run_scenario
from tests.extensions.queues.canned_queues import CannedWithQueues, message
from tests.tui.app_pilot import NARROW, WIDE, notices, opened, see, show_screens, text_of, until
from tui.app import SandboxApp
from tui.keys.preferences import Preferences
from tui.text.narration import sentence
from tui.widgets.row_list import RowList

KEY = "8"


def rows(pilot: Pilot[Any], name: str) -> RowList[Any]:
    return pilot.app.screen.query_one(f"#{name}", RowList)


async def test_the_first_queue_is_shown_with_its_claims_and_messages() -> None:
    """Who holds how many and for how long still, and which messages are free."""
    async with opened(CannedWithQueues()) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: rows(pilot, "messages").total == 12)
        assert (rows(pilot, "queues").total, rows(pilot, "claims").total) == (2, 2)
        await see(pilot, "error: 2 claims hold 4 messages", "anna", "4.8 min", "free")
        rows(pilot, "messages").focus()
        await pilot.press("down")
        await until(pilot, lambda: '"errorCode": "GENERR005"' in text_of(pilot))


async def test_another_queue_is_chosen_with_enter() -> None:
    """Its messages come, and the line above the footer says the command for them."""
    async with opened(CannedWithQueues()) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: rows(pilot, "queues").total == 2)
        await pilot.press("end", "enter")
        await until(pilot, lambda: "orders: 2 messages" in text_of(pilot))
        assert pilot.app.command == "sandbox claim list orders --project shop"  # type: ignore[attr-defined]


async def test_a_claim_is_released_once_it_was_confirmed() -> None:
    """r asks, n leaves it, y releases; the command that does the same is shown."""
    canned = CannedWithQueues()
    async with opened(canned) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: rows(pilot, "claims").total == 2)
        rows(pilot, "claims").focus()
        await pilot.press("r", "n")
        assert len(canned.queues.held) == 2
        await pilot.press("r")
        await until(pilot, lambda: "Release what anna holds? 3 messages are free again." in text_of(pilot))
        await pilot.press("y")
        await until(pilot, lambda: rows(pilot, "claims").total == 1)
        assert pilot.app.command == "sandbox claim release error claim-of-anna"  # type: ignore[attr-defined]
        assert "released" in notices(pilot)


async def test_a_view_whose_stream_is_gone_says_so() -> None:
    """Once, not with every look."""
    canned = CannedWithQueues()
    canned.queues.trouble = ("the stream error cannot be read now: there is no such stream",)
    async with opened(canned) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: canned.queues.trouble[0] in notices(pilot))
        await pilot.press("1", KEY)
        await until(pilot, lambda: rows(pilot, "messages").total == 12)
        assert notices(pilot).count(canned.queues.trouble[0]) == 1


async def test_what_lands_in_the_error_queue_is_seen_and_held() -> None:
    """Against a sandbox: a record in the stream is a message in the queue, and a claim on it is shown."""
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        components = emulator.components
        record = {"StreamName": "error", "Data": b'{"n": 1}', "PartitionKey": "1"}
        components.streams.call("PutRecord", record, components.home)
        async with opened(AsyncClient(emulator.control)) as pilot:
            await pilot.press(KEY)
            await until(pilot, lambda: rows(pilot, "messages").total == 1)
            await see(pilot, '{"n": 1}')
            at = next(
                each.at
                for each in components.extensions["queues"].engine.queues.overview()
                if each.at.name == "error"
            )
            components.extensions["queues"].engine.claims.create(at, client="carla")
            await until(pilot, lambda: "carla" in text_of(pilot))


@pytest.mark.parametrize(
    ("left", "bar"), [(300.0, "██████████"), (150.0, "█████·····"), (0.0, "··········"), (3.75, "▏·········")]
)
def test_the_time_that_is_left_as_a_bar(left: float, bar: str) -> None:
    """Full when the claim was just made, empty at its end."""
    assert remaining(Claim("c", "anna", 300, 60, 0.0, left, (message(1),))) == bar


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=str)
def test_the_screen_looks_as_it_did(
    monkeypatch: pytest.MonkeyPatch, snap_compare: Callable[..., bool], size: tuple[int, int]
) -> None:
    """Queues, claims with what is left of their time, messages with who holds them, one in full."""
    show_screens(monkeypatch, "queues")
    app = SandboxApp(CannedWithQueues(), Preferences(theme="sandbox-dark"))  # type: ignore[arg-type]

    async def run(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.snapshot is not None)
        await pilot.press(KEY)
        await until(pilot, lambda: rows(pilot, "messages").total == 12)
        rows(pilot, "messages").focus()
        await pilot.press("down")
        await pilot.pause(0.1)

    assert snap_compare(app, terminal_size=size, run_before=run)


def test_claims_of_a_recorded_run_are_told_in_words(tmp_path: Path) -> None:
    """Who claims how many, and whose claim ended."""
    run = run_scenario(find_scenario("claim-expires"), "x", seed=7, runs=tmp_path)
    said = {sentence(event, {}) for event in run.events}
    assert said >= {
        "worker-2 claims 5 messages of input",
        "a claim of worker-2 on 3 messages of input expired",
    }
