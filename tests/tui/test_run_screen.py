"""Scenarios played from the screen, and a run followed step by step."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import AsyncClient
from rdss_sandbox.shapes.scenarios import Line
from sandbox.control.scenarios import ScenarioResources
from tests.tui.app_pilot import NARROW, WIDE, answer, opened, see, text_of, until
from tests.tui.canned import Canned
from tests.tui.canned_scenarios import TEACH, events
from tui.keys.preferences import Preferences
from tui.recording_app import RecordingApp
from tui.screens.run_player import RunScreen
from tui.state.recording import Recording
from tui.widgets.row_list import RowList
from tui.widgets.time_slider import Timeline

RECORDING = Recording(
    "A bad day",
    7,
    "fail",
    "sandbox scenario run bad --seed 7",
    TEACH,
    (Line("twice", "0", "1", holds=False),),
    events(),
)


@asynccontextmanager
async def played(size: tuple[int, int] = WIDE) -> AsyncIterator[tuple[Pilot[None], RunScreen]]:
    """The recording on its own."""
    app = RecordingApp(RECORDING, Preferences())
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, RunScreen)
        await until(pilot, lambda: screen.events.total == len(RECORDING.events))
        yield pilot, screen


async def test_a_run_opens_at_its_beginning_with_what_it_teaches() -> None:
    """Title and seed, the first step in words, why it happens, the command that repeats it."""
    async with played() as (pilot, _):
        await until(pilot, lambda: "the stream input was made with 2 shards" in text_of(pilot))
        await see(
            pilot,
            "the verdict comes at the end  ·  A bad day  ·  seed 7",
            "A missing answer says nothing",
            "sandbox scenario run bad --seed 7",
            "step 1 of",
        )


async def test_the_verdict_comes_after_the_last_event() -> None:
    """Nobody reads what came of it before it happened; who goes back has seen it."""
    async with played() as (pilot, screen):
        await until(pilot, lambda: "the stream input was made with 2 shards" in text_of(pilot))
        assert "fail" not in text_of(pilot)
        assert "twice is 1" not in text_of(pilot)
        await pilot.press("G")
        await see(pilot, "fail  ·  A bad day  ·  seed 7", "✗ twice is 1  must be 0")
        await pilot.press("g")
        await until(pilot, lambda: screen.events.cursor == 0)
        await see(pilot, "fail  ·  A bad day  ·  seed 7")


async def test_steps_and_turns() -> None:
    """Right and left go by one event, n and N from one thing out of the ordinary to the next."""
    async with played() as (pilot, screen):
        await pilot.press("right", "right", "left")
        assert screen.events.cursor == 1
        await pilot.press("n")
        assert RECORDING.events[screen.events.cursor].kind == "fault.injected"
        await until(pilot, lambda: "the fault retries struck: put once more" in text_of(pilot))
        first = screen.events.cursor
        await pilot.press("n")
        assert RECORDING.events[screen.events.cursor].kind == "message.rejected"
        await until(pilot, lambda: "✗     1  in a queue" in text_of(pilot))
        await pilot.press("N")
        assert screen.events.cursor == first


async def test_playing_goes_on_by_itself_and_can_be_held() -> None:
    """Space plays and holds; at the end it stops, and space begins anew."""
    async with played() as (pilot, screen):
        await pilot.press("minus", "minus", "space")
        assert screen.speed == 0.25
        await until(pilot, lambda: screen.events.cursor >= 1)
        await until(pilot, lambda: "▶ playing" in text_of(pilot))
        await pilot.press("space")
        assert not screen.playing
        await pilot.press("G", "left", *["plus"] * 7, "space")
        assert screen.speed == 16.0
        await until(pilot, lambda: screen.events.cursor == len(RECORDING.events) - 1 and not screen.playing)
        await pilot.press(*["minus"] * 7, "space")
        await until(pilot, lambda: screen.playing and 0 < screen.events.cursor < 50)


async def test_the_slider_goes_where_it_is_clicked() -> None:
    """Its ends are the first and the last event."""
    async with played() as (pilot, screen):
        width = screen.query_one(Timeline).size.width
        await pilot.click(Timeline, offset=(width, 2))
        await until(pilot, lambda: screen.events.cursor == len(RECORDING.events) - 1)
        await pilot.click(Timeline, offset=(1, 0))
        await until(pilot, lambda: screen.events.cursor == 0)


async def test_a_small_screen_shows_the_events_or_why() -> None:
    """w changes between what happens and what it teaches; escape leaves."""
    async with played(NARROW) as (pilot, screen):
        assert "A missing answer" not in text_of(pilot)
        await pilot.press("w")
        await until(pilot, lambda: "A missing answer" in text_of(pilot))
        await pilot.press("w")
        await until(pilot, lambda: screen.events.display and "what happened" in text_of(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: not pilot.app.is_running or pilot.app._exit)


async def test_a_scenario_is_played_with_enter_or_with_a_seed(canned: Canned) -> None:
    """What it teaches stands beside it; the run opens when it is over, and the command for it is shown."""
    async with opened(canned) as pilot:
        await pilot.press("7")
        library = pilot.app.screen.query_one("#library", RowList)
        await until(pilot, lambda: library.total == 3 and "A missing answer" in text_of(pilot))
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, RunScreen))
        assert [run.scenario for run in canned.scenarios.begun] == ["producer-retry"]
        await pilot.press("escape")
        await until(pilot, lambda: "$ sandbox scenario run producer-retry" in text_of(pilot))
        await pilot.press("s")
        await answer(pilot, "42")
        await until(pilot, lambda: isinstance(pilot.app.screen, RunScreen))
        assert canned.scenarios.begun[-1].seed == 42


async def test_a_sandbox_that_plays_none_says_what_to_do(canned: Canned) -> None:
    """The command that plays one, and how to look at it, stand where the list would be."""
    canned.scenarios.missing = True
    async with opened(canned) as pilot:
        await pilot.press("7")
        await until(pilot, lambda: "this sandbox plays no scenarios" in text_of(pilot))


async def test_a_scenario_plays_in_a_real_sandbox(tmp_path: Path) -> None:
    """Enter plays it, every event of it comes, and the run is listed with its verdict."""
    settings = Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)
    with embedded(settings, more=[lambda parts: ScenarioResources(parts.events, tmp_path)]) as emulator:
        async with opened(AsyncClient(emulator.control)) as pilot:
            await pilot.press("7")
            library = pilot.app.screen.query_one("#library", RowList)
            await until(pilot, lambda: library.current is not None and library.current.name == "happy-path")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, RunScreen))
            screen = pilot.app.screen
            assert isinstance(screen, RunScreen)
            assert screen.recording.verdict == "pass"
            await pilot.press("G", "escape")
            runs = pilot.app.screen.query_one("#runs", RowList)
            await until(pilot, lambda: runs.current is not None and runs.current.verdict == "pass")
