"""Error queues: the messages of the error and the invalid queue by error code, with redrive."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical

from rdss_sandbox.shapes.messages import Count
from rdss_sandbox.text import figures
from tui.keys.actions import ActionGroup, bindings
from tui.panes.message_actions import MessageActions
from tui.panes.message_browser import MessageBrowser
from tui.screens.base import FollowingScreen
from tui.state.query import both, refused
from tui.text.columns import ListColumn
from tui.widgets.meaning_pane import MeaningPane
from tui.widgets.row_list import RowList

_NOTHING_REFUSED = "No message is in the error queue or in the invalid queue."
_WHAT_TO_DO = (
    "On a message, E edits it and sends it back, x sends it back as it is, and enter tells what the contract "
    "objects to. X sends back all that are listed."
)


class ErrorsScreen(FollowingScreen):
    """Shows the error codes with their counts beside the messages of the chosen code."""

    KINDS = ("sandbox.",)
    RECORDS = True
    AGAIN_SECONDS = None
    CHOOSES = "codes"
    BINDINGS: ClassVar[list[Any]] = bindings(ActionGroup.ERRORS)

    def __init__(self) -> None:
        super().__init__()
        self._chosen: Count | None = None

    def content(self) -> ComposeResult:
        columns = (
            ListColumn[Count]("code", 12, lambda row: row.value or "no code", "error", worth=9),
            ListColumn[Count]("count", 7, lambda row: figures.count(row.count), right=True, worth=8),
            ListColumn[Count]("meaning", 20, self._explain, "dim", worth=5, stretch=True),
        )
        with Vertical(id="refused"):
            yield RowList(
                columns,
                marked=self._is_chosen,
                empty="no message was refused",
                title="codes",
                id="codes",
            )
            yield MeaningPane()
        yield MessageActions(MessageBrowser(refused))

    def on_mount(self) -> None:
        self.watch(self.app, "topology", self.fetch_again)
        self.watch(self.app, "contract", self._learn, init=False)
        self.query_one(MessageBrowser).list.focus()

    async def fetch(self) -> None:
        codes = self.query_one("#codes", RowList)
        counts = await self.client.counts("code", matching=refused(self.sandbox.topology))
        self.call_later(codes.fill, counts)

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        if message.control.id == "codes":
            row: Count = message.row
            same = self._chosen is not None and self._chosen.value == row.value
            self._chosen = None if same else row
            message.control.redraw()
            of_code = both(refused(self.sandbox.topology), f"code:{row.value or 'none'}")
            self.query_one(MessageBrowser).show_scope("" if same else of_code)

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        if message.control.id == "codes":
            self._show_meaning()

    def _learn(self) -> None:
        self.query_one("#codes", RowList).redraw()
        self._show_meaning()

    def _show_meaning(self) -> None:
        """Tell in full what the code under the cursor means, and what can be done with its messages."""
        row: Count | None = self.query_one("#codes", RowList).current
        if row is None:
            self.query_one(MeaningPane).show("what a code means", _NOTHING_REFUSED)
            return
        code = row.value or "no code"
        known = next((each for each in self.sandbox.contract.codes if each.code == row.value), None)
        meaning = known.description if known else "The contract does not know this code."
        queue = f"Its messages go to the {known.queue} queue." if known and known.queue else ""
        chosen = "enter shows every code again" if self._is_chosen(row) else "enter lists its messages alone"
        self.query_one(MeaningPane).show(
            code, *filter(None, (meaning, queue, f"{_WHAT_TO_DO} Here {chosen}."))
        )

    def action_redrive_all(self) -> None:
        self.query_one(MessageActions).redrive_all()

    def _explain(self, row: Count) -> str:
        codes = self.sandbox.contract.codes
        return next((each.description for each in codes if each.code == row.value), "")

    def _is_chosen(self, row: Count) -> bool:
        return self._chosen is not None and self._chosen.value == row.value
