"""Messages to look through: the list, its filter, the message that is open, and what can be done with one."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Coroutine, Sequence
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from rdss_sandbox.client import AsyncClient, RefusedError, UnreachableError
from rdss_sandbox.shapes.audit import AuditPlace
from rdss_sandbox.shapes.messages import MessageDetail as Detail
from rdss_sandbox.shapes.messages import MessageRow
from tui.dialogs.prompt import Prompt
from tui.keys.actions import Group, bindings
from tui.panes.filter_bar import FilterBar
from tui.session import Session, session_of
from tui.state import goto
from tui.state.query import both
from tui.state.scopes import Scope, everything_once
from tui.state.seeking import MessageLog, NothingThereError, message_source, next_match, place_of
from tui.state.worker_messages import Undone
from tui.text.columns import Column
from tui.text.figures import count
from tui.text.reasons import Reasons, why
from tui.text.trace import Hop, way_of
from tui.widgets.message_detail import MessageDetail
from tui.widgets.message_list import MESSAGE_COLUMNS, MessageList, copied_from
from tui.widgets.row_list import RowList


class MessageBrowser(Vertical):
    """Messages that pass the scope (given by the screen) and the filter (given by the user)."""

    BINDINGS: ClassVar[list[Any]] = bindings(Group.MESSAGES)
    DEFAULT_CSS = """
    MessageBrowser {
        width: 1fr; height: 1fr;
        #where { height: 1; padding: 0 1; background: $panel-darken-1; }
        MessageList { height: 1fr; }
        MessageDetail { display: none; height: 1fr; }
        &.-reading MessageDetail { display: block; }
    }
    """

    class Reading(Message):
        """A message is open in full, or no longer."""

        def __init__(self, reading: bool) -> None:
            super().__init__()
            self.reading = reading

    class Read(Message):
        """A message came in full."""

        def __init__(self, detail: Detail, hops: list[Hop], reasons: Reasons) -> None:
            super().__init__()
            self.detail = detail
            self.hops = hops
            self.reasons = reasons

    class Found(Message):
        """The row to go to has this index."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(
        self,
        scope: Scope = everything_once,
        columns: Sequence[Column[MessageRow]] = MESSAGE_COLUMNS,
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
        yield Static(id="where")
        yield MessageList(lambda row: self.marked is not None and row.id == self.marked.id, self._columns)
        yield FilterBar()
        yield MessageDetail()

    def on_mount(self) -> None:
        self.watch(self.app, "topology", self._browse)
        self.list.following = True

    @property
    def app_(self) -> Session:
        return session_of(self)

    @property
    def client(self) -> AsyncClient:
        return self.app_.client

    @property
    def message_log(self) -> MessageLog:
        """What the list shows the messages of: the streams, or a place of the audit log."""
        return self.client.audit(self._place) if self._place else self.client

    @property
    def list(self) -> MessageList:
        return self.query_one(MessageList)

    @property
    def scope(self) -> str:
        """The filter that the screen sets."""
        return self._narrowed or self._scope(self.app_.topology)

    @property
    def matching(self) -> str:
        """The filter of what is shown."""
        return both(self.scope, self.filter)

    def look_at(self, scope: str) -> None:
        """Show the messages of another scope; of the screen's own when it is empty."""
        self._narrowed = scope
        self._browse()

    def read_audit(self, place: AuditPlace) -> None:
        """Show the entries of the audit log that lie there."""
        self._place = place
        self.mark(None)
        self._read_on(False)
        self._browse()

    def _browse(self) -> None:
        self.list.browse(message_source(self.message_log, self.matching))
        self._say_where()

    # The filter.

    def action_filter(self) -> None:
        self.query_one(FilterBar).ask(self.filter)

    def on_filter_bar_given(self, message: FilterBar.Given) -> None:
        self.filter = message.text
        self._last_filter = message.text or self._last_filter
        self._browse()
        self.list.focus()
        self.app_.command = self.command() if self.matching else ""

    def origin(self, row: MessageRow) -> str:
        """The stream that a message of the list is in; of an entry of the audit log, the one it came from."""
        return copied_from(row).stream if self._place else row.stream

    def address(self, row: MessageRow) -> str:
        """The URL of a message of the list."""
        return f"{self.client.url}{f'/audit/{self._place}' if self._place else ''}/messages/{row.id}"

    def command(self, *options: str) -> str:
        """The command that lists what is shown."""
        words = ["sandbox", "messages", *options]
        words += ["--audit", self._place] if self._place else []
        words += ["--filter", self.matching] if self.matching else []
        return shlex.join(words)

    def on_filter_bar_left(self) -> None:
        self.list.focus()

    def action_all(self) -> None:
        if self.has_class("-reading"):
            self._read_on(False)
        elif self.filter:
            row, self.filter = self.list.current, ""
            self._browse()
            if row:
                self._seek(goto.Message(row.id))

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
        await self._report(next_match(self.message_log, self.scope, self._last_filter, here, forward=forward))

    # Moving.

    def action_follow(self) -> None:
        self.list.following = not self.list.following

    def action_pause(self) -> None:
        self.list.paused = not self.list.paused

    def action_goto(self) -> None:
        self.app.push_screen(Prompt("Go to", hint=goto.HINT, words=goto.WORDS), self._goto)

    def _goto(self, text: str | None) -> None:
        snapshot = self.app_.snapshot
        if text and snapshot:
            try:
                self._seek(goto.parse(text, snapshot.status.clock.time))
            except ValueError as error:
                self.post_message(Undone(str(error)))

    def _seek(self, goal: goto.Goal) -> None:
        self._find(goal)

    @work(group="seek", exclusive=True)
    async def _find(self, goal: goto.Goal) -> None:
        await self._report(place_of(self.message_log, self.matching, goal))

    async def _report(self, search: Coroutine[Any, Any, int]) -> None:
        try:
            self.post_message(self.Found(await search))
        except (UnreachableError, RefusedError, NothingThereError) as error:
            self.post_message(Undone(str(error)))

    def on_message_browser_found(self, message: Found) -> None:
        message.stop()
        self.list.following = False
        self.list.go_to(message.index)

    # Reading.

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        message.stop()
        self._read_on(True)

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        if self.has_class("-reading") and message.row is not None and message.control is self.list:
            self._read(message.row)

    def mark(self, row: MessageRow | None) -> None:
        """Mark a message for a diff, or none."""
        self.marked = row
        self.list.redraw()

    def read_way(self) -> None:
        """Open the message under the cursor at its history."""
        self.query_one(MessageDetail).open_tab("history")
        self._read_on(True)

    def action_next_tab(self) -> None:
        self.query_one(MessageDetail).turn(1)

    def action_previous_tab(self) -> None:
        self.query_one(MessageDetail).turn(-1)

    def _read_on(self, reading: bool) -> None:
        self.set_class(reading, "-reading")
        self.post_message(self.Reading(reading))
        if reading and (row := self.list.current):
            self._read(row)

    def _read(self, row: MessageRow) -> None:
        self._fetch(row)

    @work(group="read", exclusive=True)
    async def _fetch(self, row: MessageRow) -> None:
        try:
            detail = await self.message_log.message(row.id)
            same: Any = ()
            if row.message_id:
                same = (await self.client.messages(limit=200, matching=f'id:"{row.message_id}"')).messages
            reasons = await asyncio.to_thread(why, detail)
            self.post_message(self.Read(detail, way_of(detail, same), reasons))
        except (UnreachableError, RefusedError) as error:
            self.post_message(Undone(str(error)))

    def on_message_browser_read(self, message: Read) -> None:
        message.stop()
        self.query_one(MessageDetail).show(message.detail, message.hops, message.reasons)

    # What stands above the list.

    def on_row_list_changed(self, message: RowList.Changed) -> None:
        if message.control is self.list:
            self._say_where()

    def on_row_list_failed(self, message: RowList.Failed) -> None:
        message.stop()
        if isinstance(message.error, RefusedError):
            self.post_message(Undone(str(message.error)))

    def _say_where(self) -> None:
        shown = self.list
        state = (
            Content.styled(f"‖ paused, {count(shown.behind)} waiting", "bold $text-warning")
            if shown.paused
            else Content.styled("▼ tail", "bold $text-success")
            if shown.following
            else Content.styled(f"row {count(shown.cursor + 1)}", "$text-muted")
        )
        number = Content(f"{count(shown.total)} message{'' if shown.total == 1 else 's'} ")
        which = Content.styled(self._which(), "$text-muted")
        asked = Content.assemble("  / ", (self.filter, "bold $text-accent")) if self.filter else Content("")
        said = Content.assemble(number, "  ", which, asked, "   ", state)
        self.query_one("#where", Static).update(said, layout=False)

    def _which(self) -> str:
        scope = self.scope
        if self._place:
            audit = self.app_.topology.audit
            held = audit and (audit.stream if self._place == "stream" else audit.bucket)
            return f"from the {self._place} {held}" if held else "this sandbox keeps no audit log"
        return f"every stream but {scope.removeprefix('-stream:')}" if scope.startswith("-stream:") else scope
