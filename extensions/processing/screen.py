"""Asynchronous processing: the messages with their states, and the changes and calls of one over time."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from extensions.processing.columns import MESSAGE_COLUMNS, SYSTEM_COLUMNS, history_of
from rdss_sandbox.shapes.processing import AsyncMessage, AsyncMessageDetail, OutsideSystem, Restart
from rdss_sandbox.text.figures import counted, date_time
from tui.dialogs.confirm import confirm
from tui.dialogs.prompt import Prompt, ask
from tui.keys.actions import bindings
from tui.screens.base import FollowingScreen
from tui.state.worker_messages import ActionFailed
from tui.text.pretty import pretty
from tui.widgets.row_list import RowList, Whole
from tui.widgets.text_lines import TextLines
from tui.widgets.waterfall import Waterfall

_MESSAGES = 500
_FIELDS = ("state", "source", "correlation", "process", "service", "operation", "error_code", "text")


class ProcessingScreen(FollowingScreen):
    """Shows the messages over the external systems, beside the history and the fields of one message."""

    KINDS = ("processing.",)
    BINDINGS: ClassVar[list[Any]] = bindings("Processing")
    DEFAULT_CSS = """
    ProcessingScreen {
        #asynchronous { height: 1fr; }
        #systems { height: 8; }
        Waterfall { height: 1fr; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._search_text = ""
        self._number: int | None = None
        self._shown: AsyncMessageDetail | None = None

    def content(self) -> ComposeResult:
        with Vertical(classes="column -left"):
            yield RowList(
                MESSAGE_COLUMNS,
                whole=self._tell_message,
                empty="no messages: sandbox process send",
                id="asynchronous",
            )
            yield RowList(
                SYSTEM_COLUMNS, whole=_tell_system, empty="no systems", title="outside systems", id="systems"
            )
        with Vertical(classes="column"):
            yield Waterfall()
            yield TextLines(title="the message in full")

    def on_mount(self) -> None:
        self.query_one("#asynchronous").focus()

    def action_filter(self) -> None:
        hint = "state:FAILED source:CRM operation:create text:invoice"
        ask(self, Prompt("Only messages like", hint=hint, value=self._search_text), self._find)

    def action_all(self) -> None:
        self._find("")

    def action_restart(self) -> None:
        """Process the message again without the calls that succeeded."""
        self._act("Process it again? What succeeded is not called again.", "Restart", Restart("partial"))

    def action_restart_totally(self) -> None:
        self._act("Process it again, with all its calls?", "Restart", Restart("total"))

    def action_cancel(self) -> None:
        self._act("End it? Its source is told.", "Cancel it", None)

    def _act(self, question: str, yes: str, how: Restart | None) -> None:
        number = self._number
        if number is None:
            self.post_message(ActionFailed("there is no message under the cursor"))
            return

        def act() -> None:
            total = " --total" if how and how.kind == "total" else ""
            command = f"sandbox process {'restart' if how else 'cancel'} {number}{total}"
            self.sandbox.run_in_background(self._restart_or_cancel(number, how), command)

        confirm(self, f"Message {number}. {question}", yes, act)

    async def _restart_or_cancel(self, number: int, how: Restart | None) -> str:
        processing = self.client.processing
        found = await (processing.restart(number, how) if how else processing.cancel(number))
        self.fetch_again()
        return f"message {number} is {found.message.state}"

    def _find(self, search_text: str) -> None:
        self._search_text = search_text
        self.fetch_again()
        options = " ".join(
            f"--{name.replace('_', '-')} '{value}'" for name, value in _search(search_text).items()
        )
        self.sandbox.command = f"sandbox process list {options}".rstrip()

    async def fetch(self) -> None:
        processing, search_text = self.client.processing, self._search_text
        messages = await processing.search(limit=_MESSAGES, **_search(search_text))
        systems = await processing.systems()
        shown = self._number or (messages[0].number if messages else None)
        one = None if shown is None else await processing.show(shown)
        self.call_later(self._show, search_text, messages, systems, one)

    def _show(
        self,
        search_text: str,
        messages: tuple[AsyncMessage, ...],
        systems: tuple[OutsideSystem, ...],
        one: AsyncMessageDetail | None,
    ) -> None:
        """Show the messages that match the filter ``search_text``, the systems, and one whole message."""
        if search_text != self._search_text:
            return
        self.query_one("#asynchronous", RowList).fill(messages)
        self.query_one("#systems", RowList).fill(systems)
        more = "the newest " if len(messages) == _MESSAGES else ""
        which = f" like {self._search_text}" if self._search_text else ""
        listed = f"{more}{counted(len(messages), 'message')}{which}"
        self.query_one("#asynchronous", RowList).border_title = Content(listed)
        if one is not None and self._number in {None, one.message.number}:
            self._draw(one)

    def _draw(self, found: AsyncMessageDetail) -> None:
        row = found.message
        self._number, self._shown = row.number, found
        may = f"; you can {' or '.join(found.actions)} it" if found.actions else ""
        line = self.query_one(Waterfall)
        line.border_title = Content(f"{row.number} is {row.state}, {row.service}.{row.operation}{may}")
        line.show(history_of(found))
        self.query_one(TextLines).show(pretty(_filled_fields(found)), json=True)

    def _tell_message(self, row: AsyncMessage) -> Whole:
        """The message with its body, if it is the one beside the list."""
        shown = self._shown
        fields = _filled_fields(shown) if shown and shown.message.number == row.number else row
        sentence = f"{row.number} is {row.state}, {row.service}.{row.operation} from {row.source}"
        return sentence, pretty(fields)

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        row = message.row
        if isinstance(row, AsyncMessage) and self.focused is message.control and row.number != self._number:
            self._number = row.number
            self.fetch_again()


def _tell_system(row: OutsideSystem) -> Whole:
    return f"{row.name} was called {row.received:,} times", pretty(row)


def _search(search_text: str) -> dict[str, Any]:
    """Parse ``state:OK invoice`` into the fields of the query; a word without a field is ``text``."""
    found: dict[str, str] = {}
    for word in search_text.split():
        name, colon, value = word.partition(":")
        known = colon and name in _FIELDS
        key, text = (name, value) if known else ("text", word)
        found[key] = f"{found[key]} {text}" if key in found else text
    if "state" in found:
        found["state"] = found["state"].upper()
    return found


def _filled_fields(found: AsyncMessageDetail) -> dict[str, Any]:
    row = msgspec.to_builtins(found.message)
    rest = {
        "children": [f"{each.number} {each.state} {each.binding or ''}".strip() for each in found.children],
        "business errors": list(found.business_errors),
        "custom data": found.custom_data,
        "body": found.body,
    }
    times = {name: f"{date_time(row[name])} UTC" for name in ("received", "changed")}
    return {name: value for name, value in (row | times | rest).items() if value not in (None, [], "")}
