"""Scenarios: the library, what each scenario teaches, and the runs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from rdss_sandbox.client import RefusedError
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.scenarios import NewRun, Scenario, ScenarioRun
from rdss_sandbox.text import shell_commands
from tui.dialogs.prompt import Prompt, ask
from tui.keys.actions import ActionGroup, bindings
from tui.screens.base import FollowingScreen
from tui.screens.run_player import RunScreen, tell_teaching
from tui.session import posting_failures
from tui.state.recording import Recording, fetch_recording
from tui.state.worker_messages import ActionDone, ActionFailed
from tui.text.columns import ListColumn
from tui.text.message_trace import describe
from tui.widgets.row_list import RowList

_POLL_SECONDS = 0.2
_NO_SCENARIOS = (
    "this sandbox plays no scenarios; play one with: sandbox scenario run NAME, "
    "and look at it with: sandbox tui --run runs/NAME/latest"
)
_TONES = {"pass": "good", "fail": "error", "inconclusive": "warning"}


def _tone(run: ScenarioRun) -> str:
    return _TONES.get(run.verdict, "")


SCENARIO_COLUMNS: tuple[ListColumn[Scenario], ...] = (
    ListColumn("scenario", 28, lambda row: row.name, "accent", worth=9),
    ListColumn("what goes wrong", 20, lambda row: row.title, worth=8, stretch=True),
)
RUN_COLUMNS: tuple[ListColumn[ScenarioRun], ...] = (
    ListColumn("run", 4, lambda row: str(row.id), "dim", right=True, worth=5),
    ListColumn("scenario", 28, lambda row: row.scenario, worth=9),
    ListColumn("seed", 12, lambda row: str(row.seed), "dim", right=True, worth=6),
    ListColumn(
        "verdict",
        14,
        lambda row: row.verdict or row.state,
        _tone,
        worth=9,
    ),
    ListColumn("", 10, lambda row: row.problem or f"{row.events} events", "dim", worth=4, stretch=True),
)


class ScenariosScreen(FollowingScreen):
    """Enter plays the scenario under the cursor and opens the run; enter on a run opens it again."""

    KINDS = ("scenario.",)
    AGAIN_SECONDS = None
    BINDINGS: ClassVar[list[Any]] = bindings(ActionGroup.SCENARIOS)

    def content(self) -> ComposeResult:
        with Vertical(id="scenarios"):
            yield RowList(SCENARIO_COLUMNS, empty="no scenarios known yet", title="scenarios", id="library")
            yield RowList(
                RUN_COLUMNS, empty="nothing played yet; enter plays a scenario", title="runs", id="runs"
            )
        with VerticalScroll(id="lesson", can_focus=False):
            yield Static(id="teach")

    def on_mount(self) -> None:
        self._fetch_library()
        self.query_one("#library").focus()

    @work
    async def _fetch_library(self) -> None:
        library = self.query_one("#library", RowList)
        try:
            self.call_later(library.fill, await self.client.scenarios.list())
        except RefusedError:
            self.call_later(library.show_empty, _NO_SCENARIOS)
        except self.sandbox.failures as error:
            self.call_later(library.show_empty, str(error))

    async def fetch(self) -> None:
        runs = self.query_one("#runs", RowList)
        # Without scenarios the library shows the reason.
        with suppress(RefusedError):
            self.call_later(runs.fill, await self.client.scenarios.runs())

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        if message.control.id == "library" and message.row is not None:
            self.query_one("#teach", Static).update(_lesson(message.row))
            self.query_one("#lesson").border_title = message.row.name

    # Playing.

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        if message.control.id == "library":
            self._begin(NewRun(message.row.name))
        else:
            self._open(message.row)

    def action_seeded(self) -> None:
        scenario: Scenario | None = self.query_one("#library", RowList).current

        if scenario is None:
            return
        name = scenario.name

        def begin(text: str) -> None:
            if text.isdecimal():
                self._begin(NewRun(name, int(text)))
            else:
                self.post_message(ActionFailed(f"{text!r} is no seed; write a whole number"))

        ask(
            self,
            Prompt(f"Play {name} with the seed", hint="a whole number; the same seed plays the same run"),
            begin,
        )

    def action_explain(self) -> None:
        self.toggle_class("-explaining")
        lesson = self.query_one("#lesson")
        lesson.can_focus = self.has_class("-explaining")
        # A hidden list loses the focus, and the keys of lists with it.
        shown = lesson if lesson.can_focus else self.query_one("#library")
        self.call_after_refresh(shown.focus)

    @work(group="play", exclusive=True)
    async def _begin(self, run: NewRun) -> None:
        self.app.post_message(ActionDone(f"{run.scenario} plays", shell_commands.begin_run(run)))
        with posting_failures(self):
            await self._follow(await self.client.scenarios.begin(run))

    @work(group="play", exclusive=True)
    async def _open(self, run: ScenarioRun) -> None:
        with posting_failures(self):
            await self._follow(run)

    async def _follow(self, run: ScenarioRun) -> None:
        """Wait for the end of the run, then play its recording. Raises ValueError for an empty run."""
        while run.state == "running":
            await asyncio.sleep(_POLL_SECONDS)
            run = await self.client.scenarios.run(run.id)
        if not run.events:
            raise ValueError(run.problem or "nothing happened in that run")
        self.call_later(self._play, await fetch_recording(self.client, run.id))

    def _play(self, recording: Recording) -> None:
        self.app.push_screen(RunScreen(recording))


def _lesson(scenario: Scenario) -> Content:
    faults = [_fault(fault) for fault in scenario.faults]
    expectations = ", ".join(_expect(fact, str(value)) for fact, value in scenario.expect.items())
    expected = Content.assemble(("What must come of it. ", "bold $text-accent"), expectations)
    return Content("\n\n").join(
        [Content.styled(scenario.title, "bold"), *tell_teaching(scenario.teach), *faults, expected]
    )


def _expect(fact: str, value: str) -> str:
    """``processed = offered``, ``lag <= 2s``: an expectation with its sign."""
    return f"{fact} {value.replace('==', '=')}" if value[:1] in "<>=!" else f"{fact} = {value}"


def _fault(fault: NewFault) -> Content:
    conditions = {"channel": fault.channel, "direction": fault.direction, **fault.attributes, **fault.when}
    return Content.assemble(
        (f"The fault {fault.name or fault.type}. ", "bold $text-warning"), describe(conditions)
    )
