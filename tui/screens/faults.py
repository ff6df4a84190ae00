"""Faults: those in force with their injections, the fault types, the clock, and the events."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical

from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import Fault, FaultAttribute, FaultChange, FaultType
from rdss_sandbox.text import figures, shell_commands
from rdss_sandbox.text.durations import seconds
from tui.dialogs.add_fault import AddFault
from tui.dialogs.prompt import Prompt, ask
from tui.keys.actions import ActionGroup, bindings
from tui.screens.base import MainScreen
from tui.session import posting_failures
from tui.text.columns import ListColumn
from tui.text.pretty import pretty
from tui.widgets.event_list import EventList
from tui.widgets.meaning_pane import MeaningPane
from tui.widgets.row_list import RowList, Whole


def _attributes(row: Fault) -> str:
    given = {**row.attributes, **{name: value for name, value in row.when.items() if value is not None}}
    return " ".join(f"{name}={value}" for name, value in given.items() if value not in {None, ""})


def _paused(row: Fault) -> str:
    return "" if row.enabled else "dim"


FAULT_COLUMNS: tuple[ListColumn[Fault], ...] = (
    ListColumn("in force", 14, lambda row: f"{'●' if row.enabled else '‖'} {row.name}", _paused, worth=9),
    ListColumn("kind", 10, lambda row: row.type, _paused, worth=5),
    ListColumn("channel", 8, lambda row: row.channel, _paused, worth=8),
    ListColumn("way", 7, lambda row: row.direction, _paused, worth=4),
    ListColumn("share", 5, lambda row: f"{row.toxicity:.0%}", _paused, right=True, worth=7),
    ListColumn(
        "struck",
        7,
        lambda row: figures.count(row.injected),
        lambda row: "warning" if row.injected else "",
        right=True,
        worth=8,
    ),
    ListColumn("settings", 12, _attributes, "dim", worth=6, stretch=True),
)
TYPE_COLUMNS: tuple[ListColumn[FaultType], ...] = (
    ListColumn("kinds", 16, lambda row: row.type, "accent", worth=9),
    ListColumn("way", 24, lambda row: ", ".join(row.directions), "dim", worth=3),
    ListColumn("does", 30, lambda row: row.help, worth=8, stretch=True),
)


def _tell(fault: Fault) -> Whole:
    sentence = f"{fault.name} struck {figures.count(fault.injected)} times"
    return sentence, pretty(fault)


class FaultsScreen(MainScreen):
    """Shows the faults and fault types beside the events; adds, pauses and removes faults; sets the clock."""

    BINDINGS: ClassVar[list[Any]] = bindings(ActionGroup.FAULTS)

    def content(self) -> ComposeResult:
        with Vertical(id="faults"):
            yield RowList(
                FAULT_COLUMNS,
                whole=_tell,
                empty="no fault in force; a on a kind below adds one",
                id="in-force",
            )
            yield RowList(TYPE_COLUMNS, empty="no kinds known yet", title="kinds of faults", id="kinds")
            yield MeaningPane()
        yield EventList()

    def __init__(self) -> None:
        super().__init__()
        self._settings: tuple[FaultAttribute, ...] = ()

    def on_mount(self) -> None:
        self.watch(self.app, "snapshot", self._show)
        self._fetch_types()
        self.query_one("#kinds").focus()

    @work
    async def _fetch_types(self) -> None:
        with posting_failures(self):
            self._settings = await self.client.fault_settings()
            self.call_later(self.query_one("#kinds", RowList).fill, await self.client.fault_types())

    def _show(self) -> None:
        if snapshot := self.sandbox.snapshot:
            clock = snapshot.status.clock
            pace = "real time" if clock.real else f"speed {clock.speed:g}" if clock.speed else "frozen"
            faults = self.query_one("#in-force", RowList)
            faults.border_title = (
                f"clock {figures.date_time(clock.time)[:-4]} UTC, {pace} · seed {snapshot.status.seed}"
            )
            faults.fill(snapshot.faults)

    # Faults.

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        meaning = self.query_one(MeaningPane)
        match message.row:
            case FaultType() as kind:
                settings = (f"{each.name}: {each.help}" for each in kind.attributes)
                meaning.show(kind.type, kind.help, "\n".join(settings))
            case Fault() as fault if self.focused is message.control:
                meaning.show(fault.name, _tell(fault)[0], _attributes(fault))

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        if message.control.id == "kinds":
            self.app.push_screen(AddFault(message.row, self._settings))

    def action_add(self) -> None:
        if (kind := self.query_one("#kinds", RowList).current) is not None:
            self.app.push_screen(AddFault(kind, self._settings))

    def action_pause_fault(self) -> None:
        if fault := self._fault:
            on = not fault.enabled

            async def change() -> str:
                await self.client.change_fault(fault.name, FaultChange(enabled=on))
                return f"{fault.name} {'strikes again' if on else 'is paused'}"

            path = f"{self.client.url}/faults/{fault.name}"
            self.sandbox.run_in_background(
                change(), f"curl -X PATCH {path} -d '{{\"enabled\": {str(on).lower()}}}'"
            )

    def action_remove(self) -> None:
        if fault := self._fault:

            async def remove() -> str:
                gone = await self.client.remove_fault(fault.name)
                return f"removed {gone.name}, which struck {figures.count(gone.injected)} times"

            self.sandbox.run_in_background(remove(), shell_commands.remove_fault(fault.name))

    @property
    def _fault(self) -> Fault | None:
        return self.query_one("#in-force", RowList).current

    # The clock.

    def action_freeze(self) -> None:
        clock = self.sandbox.snapshot.status.clock if self.sandbox.snapshot else None
        if clock and not clock.real and clock.speed == 0:
            self._change_clock(ClockChange("speed", speed=1.0))
        else:
            self._change_clock(ClockChange("freeze"))

    def action_advance(self) -> None:
        def advance(text: str) -> None:
            with posting_failures(self):
                self._change_clock(ClockChange("advance", seconds=seconds(text)))

        ask(self, Prompt("Let so much time pass at once", hint="30s, 6m, 24h, 7d"), advance)

    def action_real_time(self) -> None:
        self._change_clock(ClockChange("real"))

    def _change_clock(self, change: ClockChange) -> None:
        async def change_clock() -> str:
            clock = await self.client.change_clock(change)
            return f"the clock says {figures.date_time(clock.time)} UTC"

        self.sandbox.run_in_background(change_clock(), shell_commands.change_clock(change))
