"""The message list with its filter and the detail of one message."""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import TabbedContent

from rdss_sandbox.client import AsyncClient, RefusedError
from rdss_sandbox.files.record_lines import RecordAddress
from rdss_sandbox.shapes.audit import AuditPlace
from rdss_sandbox.shapes.messages import MessageRow
from rdss_sandbox.text.figures import count, counted
from tui.keys.actions import ActionGroup, bindings
from tui.panes.filter_bar import FilterBar
from tui.session import Session, posting_failures, session_of
from tui.state import goto
from tui.state.life import follow_life
from tui.state.query import Scope, both, everything_once
from tui.state.seeking import MessageLog, find_index, message_source, next_match
from tui.state.worker_messages import ActionFailed
from tui.text.message_trace import trace_of
from tui.text.reasons import find_reasons
from tui.widgets.message_detail import MessageDetailPane
from tui.widgets.message_list import HERE, Columns, MessageList, copied_from
from tui.widgets.row_list import RowList


class MessageBrowser(Vertical):
    """Shows the messages that match both the screen's scope and the user's filter."""

    BINDINGS: ClassVar[list[Any]] = bindings(ActionGroup.MESSAGES)
    DEFAULT_CSS = """
    MessageBrowser {
        width: 1fr; height: 1fr;
        MessageList { height: 1fr; }
        MessageDetailPane { display: none; height: 1fr; }
        &.-reading MessageDetailPane { display: block; }
    }
    """

    @dataclass
    class Reading(Message):
        """The detail of a message was opened or closed."""

        reading: bool

    def __init__(
        self,
        scope: Scope = everything_once,
        columns: Columns = HERE,
        place: AuditPlace | None = None,
    ) -> None:
        super().__init__()
        self._scope = scope
        self._columns = columns
        self._place = place
        self._narrowed = ""
        self.filter = ""
        self._last_filter = ""
        self.marked: MessageRow | None = None

    def compose(self) -> ComposeResult:
        yield MessageList(lambda row: self.marked is not None and row.id == self.marked.id, self._columns)
        yield FilterBar()
        yield MessageDetailPane()

    def on_mount(self) -> None:
        self.watch(self.app, "topology", self._browse)
        self.list.following = True

    @property
    def session(self) -> Session:
        return session_of(self)

    @property
    def client(self) -> AsyncClient:
        return self.session.client

    @property
    def message_log(self) -> MessageLog:
        """The source of the messages: the streams, or a place of the audit log."""
        return self.client.audit(self._place) if self._place else self.client

    @property
    def list(self) -> MessageList:
        return self.query_one(MessageList)

    @property
    def scope(self) -> str:
        """The filter of the screen."""
        return self._narrowed or self._scope(self.session.topology)

    @property
    def matching(self) -> str:
        """The filter of the list: the scope and the user's filter."""
        return both(self.scope, self.filter)

    def show_scope(self, scope: str) -> None:
        """Show the messages of another scope; an empty one restores the screen's own."""
        self._narrowed = scope
        self._browse()

    def show_audit(self, place: AuditPlace) -> None:
        """Show the entries of the audit log in this place."""
        self._place = place
        self.mark(None)
        self._open_detail(False)
        self._browse()

    def _browse(self) -> None:
        self.list.explain_none(filtered=bool(self.filter))
        self.list.browse(message_source(self.message_log, self.matching))
        self._show_position()

    # The filter.

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Offer what fits: another tab while a message is read, a match while there is a filter to match."""
        match action:
            case "all":
                return self.has_class("-reading") or bool(self.filter)
            case "next_tab" | "previous_tab":
                return self.has_class("-reading")
            case "next_match" | "previous_match":
                return bool(self._last_filter)
        return True

    def action_filter(self) -> None:
        self.query_one(FilterBar).ask(self.filter)

    def on_filter_bar_submitted(self, message: FilterBar.Submitted) -> None:
        self.show_filter(message.text)

    def origin(self, row: MessageRow) -> str:
        """The stream of a message; for an entry of the audit log, the stream that was copied."""
        return copied_from(row).stream if self._place else row.stream

    def address(self, row: MessageRow) -> str:
        """The URL of a message of the list."""
        return f"{self.client.url}{f'/audit/{self._place}' if self._place else ''}/messages/{row.id}"

    def command(self, *options: str) -> str:
        """The shell command that lists the same messages."""
        words = ["sandbox", "messages", *options]
        words += ["--audit", self._place] if self._place else []
        words += ["--filter", self.matching] if self.matching else []
        return shlex.join(words)

    def on_filter_bar_cancelled(self) -> None:
        self.list.focus()

    def action_all(self) -> None:
        if self.has_class("-reading"):
            self._open_detail(False)
        elif self.filter:
            row, self.filter = self.list.current, ""
            self._browse()
            if row:
                self._seek(goto.GoToMessage(row.id))

    def action_next_match(self) -> None:
        self._match(forward=True)

    def action_previous_match(self) -> None:
        self._match(forward=False)

    def _match(self, *, forward: bool) -> None:
        row = self.list.current
        if self.filter or not self._last_filter:
            self.list.move_to(self.list.cursor + (1 if forward else -1))
        elif row:
            self._find_match(row.id, forward=forward)

    @work(group="seek", exclusive=True)
    async def _find_match(self, here: int, *, forward: bool) -> None:
        with posting_failures(self):
            found = await next_match(self.message_log, self.scope, self._last_filter, here, forward=forward)
            self.call_later(self._go_to, found)

    # Moving.

    def action_follow(self) -> None:
        self.list.following = not self.list.following

    def action_pause(self) -> None:
        self.list.paused = not self.list.paused

    def seek(self, text: str) -> None:
        """Go to a place in the list, as a user writes it: a number, a time, or a word of an iterator."""
        if snapshot := self.session.snapshot:
            with posting_failures(self):
                self._seek(goto.parse(text, snapshot.status.clock.time))

    def show_filter(self, text: str) -> None:
        """Show the messages that match ``text`` within the screen's scope."""
        self.filter = text
        self._last_filter = text or self._last_filter
        self._browse()
        self.list.focus()
        self.session.command = self.command() if self.matching else ""

    @work(group="seek", exclusive=True)
    async def _seek(self, goal: goto.Goal) -> None:
        with posting_failures(self):
            self.call_later(self._go_to, await find_index(self.message_log, self.matching, goal))

    def _go_to(self, index: int) -> None:
        self.list.following = False
        self.list.go_to(index)

    # Reading.

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        if message.control is self.list:
            message.stop()
            self._open_detail(True)

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        if message.control is self.list:
            self.refresh_bindings()
        if self.has_class("-reading") and message.row is not None and message.control is self.list:
            self._read(message.row)

    def mark(self, row: MessageRow | None) -> None:
        """Mark a message for a diff; None removes the mark."""
        self.marked = row
        self.list.redraw()

    def show_history(self) -> None:
        """Open the history of the message under the cursor."""
        self.query_one(MessageDetailPane).open_tab("history")
        self._open_detail(True)

    def action_next_tab(self) -> None:
        self.query_one(MessageDetailPane).turn(1)

    def action_previous_tab(self) -> None:
        self.query_one(MessageDetailPane).turn(-1)

    def on_tabbed_content_tab_activated(self, message: TabbedContent.TabActivated) -> None:
        """Fetch the history when its tab is opened: most readers of a message do not ask for it."""
        if message.pane.id == "history" and self.has_class("-reading") and (row := self.list.current):
            self._read(row)

    def _open_detail(self, reading: bool) -> None:
        self.set_class(reading, "-reading")
        self.refresh_bindings()
        self.post_message(self.Reading(reading))
        if reading and (row := self.list.current):
            self._read(row)

    @work(group="read", exclusive=True)
    async def _read(self, row: MessageRow) -> None:
        with posting_failures(self):
            log, shown = self.message_log, self.query_one(MessageDetailPane)
            detail, reasons = await asyncio.gather(
                log.message(row.id), find_reasons(log, row, self.session.contract)
            )
            self.call_later(shown.show, detail, trace_of(detail), reasons)
            if shown.shows_history:
                here = RecordAddress(row.stream, row.shard, row.sequence_number)
                address = copied_from(row) if self._place else here
                async for life in follow_life(self.client, self.session.topology, row, address):
                    self.call_later(shown.show, detail, trace_of(detail, life), reasons)

    # The title of the list.

    def on_row_list_changed(self, message: RowList.Changed) -> None:
        if message.control is self.list:
            self._show_position()

    def on_row_list_failed(self, message: RowList.Failed) -> None:
        message.stop()
        if isinstance(message.error, RefusedError):
            self.post_message(ActionFailed(str(message.error)))

    def _show_position(self) -> None:
        shown = self.list
        state = (
            Content.styled(f"‖ paused, {count(shown.behind)} waiting", "bold $text-warning")
            if shown.paused
            else Content.styled("▼ tail", "bold $text-success")
            if shown.following
            else Content.styled(f"row {count(shown.cursor + 1)}", "$text-muted")
        )
        number = Content(f"{counted(shown.total, 'message')} ")
        which = Content.styled(self._describe_scope(), "$text-muted")
        asked = Content.assemble("  / ", (self.filter, "bold $text-accent")) if self.filter else Content("")
        shown.border_title = Content.assemble(number, "  ", which, asked, "   ", state)

    def _describe_scope(self) -> str:
        scope = self.scope
        if self._place:
            audit = self.session.topology.audit
            held = audit and (audit.stream if self._place == "stream" else audit.bucket)
            return f"from the {self._place} {held}" if held else "this sandbox keeps no audit log"
        return f"every stream but {scope.removeprefix('-stream:')}" if scope.startswith("-stream:") else scope
