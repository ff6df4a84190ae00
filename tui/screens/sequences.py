"""Sequences: the messages that were sent in several parts, with their missing parts."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from textual.app import ComposeResult

from rdss_sandbox.shapes.sequences import SequenceRow
from rdss_sandbox.text import figures
from tui.keys.actions import ActionGroup, bindings
from tui.screens.base import MainScreen
from tui.state.paging import Page
from tui.state.query import everything_once
from tui.text import sequence_parts
from tui.text.columns import ListColumn
from tui.text.pretty import pretty
from tui.widgets.message_list import came
from tui.widgets.row_list import RowList, Whole
from tui.widgets.sequence_detail import SequenceDetail

_CELLS = 20


def _tone(row: SequenceRow) -> str:
    return "good" if row.complete else "warning"


class SequencesScreen(MainScreen):
    """Shows the sequences beside the parts of the one under the cursor."""

    BINDINGS: ClassVar[list[Any]] = bindings(ActionGroup.SEQUENCES)

    def __init__(self) -> None:
        super().__init__()
        self._unfinished = False
        self._shown: SequenceRow | None = None

    def content(self) -> ComposeResult:
        columns = (
            ListColumn[SequenceRow](
                "first (UTC)", 12, lambda row: figures.clock_time(row.first), "dim", worth=5
            ),
            ListColumn[SequenceRow]("stream", 8, lambda row: row.stream, worth=7),
            ListColumn[SequenceRow]("type", 17, lambda row: row.message_type or "", worth=4),
            ListColumn[SequenceRow](
                "came", 7, lambda row: f"{len(row.positions)}/{row.total}", _tone, right=True, worth=9
            ),
            ListColumn[SequenceRow](
                "parts", _CELLS, lambda row: sequence_parts.cells(row, _CELLS), _tone, worth=8
            ),
            ListColumn[SequenceRow]("size", 7, lambda row: figures.size(row.size), right=True, worth=3),
            ListColumn[SequenceRow]("waiting", 8, self._waiting, right=True, worth=4),
            ListColumn[SequenceRow]("left", 8, self._left, self._left_tone, right=True, worth=6),
            ListColumn[SequenceRow]("state", 16, sequence_parts.describe_parts, _tone, worth=6, stretch=True),
        )
        yield RowList(columns, live=came, whole=_tell, empty="no message came in several parts", id="list")
        yield SequenceDetail()

    def on_mount(self) -> None:
        self.watch(self.app, "topology", self._browse)
        self.watch(self.app, "snapshot", self._let_time_pass, init=False)
        self.query_one("#list").focus()

    def action_unfinished(self) -> None:
        self._unfinished = not self._unfinished
        self._browse()

    def _browse(self) -> None:
        unfinished, matching = self._unfinished, everything_once(self.sandbox.topology)

        async def read(offset: int, limit: int) -> Page[SequenceRow]:
            page = await self.client.sequences(
                offset=offset, limit=limit, matching=matching, unfinished=unfinished
            )
            return Page(offset, page.sequences, page.total, page.indexed)

        self.query_one("#list", RowList).browse(read)

    def _let_time_pass(self) -> None:
        if self.is_current:
            self.query_one("#list", RowList).redraw()

    def on_row_list_changed(self, message: RowList.Changed) -> None:
        if message.control.id == "list":
            which = "with a part missing" if self._unfinished else "in several parts"
            rows = message.control
            found = figures.counted(rows.total, "message") if rows.known or rows.total else "… messages"
            rows.border_title = f"{found} {which}"

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        row: SequenceRow | None = message.row
        if message.control.id == "list" and row is not None and row != self._shown:
            self._shown = row
            self.query_one(SequenceDetail).show(row.sequence, row.stream)

    def _left(self, row: SequenceRow) -> str:
        left = self._deadline(row) - self.sandbox.now
        return "" if row.complete else figures.span(left) if left > 0 else "too late"

    def _left_tone(self, row: SequenceRow) -> str:
        return "error" if self._deadline(row) <= self.sandbox.now else ""

    def _deadline(self, row: SequenceRow) -> float:
        return sequence_parts.deadline(row, self.sandbox.contract.patience or math.inf)

    def _waiting(self, row: SequenceRow) -> str:
        return "" if row.complete else figures.span(max(0.0, self.sandbox.now - row.first))


def _tell(row: SequenceRow) -> Whole:
    kind, parts = row.message_type or "a message", figures.counted(row.total, "part")
    return f"{kind} in {parts} on {row.stream}: {sequence_parts.describe_parts(row)}", pretty(row)
