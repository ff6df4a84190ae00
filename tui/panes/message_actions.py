"""Actions on messages: copy, export, import, edit, redrive, compare, show the sequence and the history."""

from __future__ import annotations

import asyncio
import shlex
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.containers import Vertical

from rdss_sandbox.client import RefusedError
from rdss_sandbox.files.ndjson import from_lines
from rdss_sandbox.shapes.messages import MessageDetail, MessageRow, NewMessage, Original
from rdss_sandbox.text.figures import count, counted
from tui.dialogs.confirm import confirm
from tui.dialogs.diff import Diff
from tui.dialogs.edit import Edit
from tui.dialogs.pane_dialog import PaneDialog
from tui.dialogs.prompt import Prompt, ask
from tui.keys.actions import ActionGroup, bindings
from tui.panes.message_browser import MessageBrowser
from tui.state import transfer
from tui.state.worker_messages import ActionDone
from tui.widgets.sequence_detail import SequenceDetail

_FILE = "messages.ndjson"
_PAGE = 500
_OF_A_ROW = frozenset({"redrive", "edit", "diff", "life", "copy", "export"})


class MessageActions(Vertical):
    """A message browser with the actions on its messages."""

    BINDINGS: ClassVar[list[Any]] = bindings(ActionGroup.MESSAGE)

    def __init__(self, browser: MessageBrowser) -> None:
        super().__init__()
        self.browser = browser

    def compose(self) -> ComposeResult:
        yield self.browser

    @property
    def _row(self) -> MessageRow | None:
        return self.browser.list.current

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Offer what fits the row: nothing but an import without one, its parts if it has several."""
        row = self._row if self.browser.is_mounted else None
        if action == "sequence":
            return row is not None and (row.total or 0) > 1
        return row is not None or action not in _OF_A_ROW

    # To the clipboard and to files.

    def action_copy(self) -> None:
        if row := self._row:
            self.browser.session.run_in_background(self._copy(row), f"curl -s {self.browser.address(row)}")

    async def _copy(self, row: MessageRow) -> str:
        data = transfer.as_bytes(await self.browser.message_log.message(row.id))
        self.call_later(self.app.copy_to_clipboard, data.decode(errors="replace"))
        return f"copied message #{row.id}, {count(len(data))} bytes"

    def action_export(self) -> None:
        matching = self.browser.matching

        def export(name: str) -> None:
            path = Path(name).expanduser()
            command = f"{self.browser.command('--raw')} > {shlex.quote(str(path))}"
            work = transfer.export(self.browser.message_log, matching, path)
            self.browser.session.run_in_background(work, command)

        hint = f"{counted(self.browser.list.total, 'message')}, one a line"
        ask(self, Prompt("Export to the file", hint=hint, value=_FILE), export)

    def action_import(self) -> None:
        target = self.browser.origin(row) if (row := self._row) else self.browser.session.topology.first

        def read(name: str) -> None:
            path = Path(name).expanduser()
            command = f"sandbox send {shlex.quote(str(path))} --channel {target}"
            self.browser.session.run_in_background(self._import(path, target), command)

        hint = f"every line becomes a message in {target}"
        ask(self, Prompt("Import from the file", hint=hint, value=_FILE), read)

    async def _import(self, path: Path, target: str) -> str:
        text = await asyncio.to_thread(path.read_text, encoding="utf-8")
        messages = list(from_lines(text))
        for data in messages:
            await self.browser.client.send(NewMessage(target, data))
        return f"sent {counted(len(messages), 'message')} to {target}"

    # Sending again.

    def action_redrive(self) -> None:
        if row := self._row:
            self.browser.session.run_in_background(self._prepare(row, edit=False))

    def action_edit(self) -> None:
        if row := self._row:
            self.browser.session.run_in_background(self._prepare(row, edit=True))

    async def _prepare(self, row: MessageRow, *, edit: bool) -> str:
        found = await self.browser.message_log.original(row.id)
        target = found.origin or self.browser.session.topology.first
        self.call_later(self._edit if edit else self._ask_target, row, found, target)
        return ""

    def _edit(self, row: MessageRow, found: Original, target: str) -> None:
        def edited(data: bytes | None) -> None:
            if data is not None:
                self._ask_target(row, replace(found, data=data), target)

        self.app.push_screen(Edit(found.data), edited)

    def _ask_target(self, row: MessageRow, found: Original, proposed: str) -> None:
        def send(target: str) -> None:
            self.browser.session.run_in_background(self._send(row, found.data, target))

        loop = f"; it was redriven {found.redriven} times before" if found.redriven else ""
        streams = self._streams
        question, hint = f"Send message #{row.id} to the stream", f"with a note in its history{loop}"
        if proposed not in streams:
            hint = f"{proposed} is no stream; for a queue: sandbox send --kind rabbitmq"
            proposed = ""
        ask(self, Prompt(question, hint=hint, value=proposed, words=streams), send)

    @property
    def _streams(self) -> tuple[str, ...]:
        snapshot = self.browser.session.snapshot
        return tuple(stream.name for stream in snapshot.status.streams) if snapshot else ()

    async def _send(self, row: MessageRow, data: bytes, target: str) -> str:
        sent = await self.browser.client.redrive(NewMessage(target, data, row.partition_key))
        return f"sent #{row.id} to {target}, {sent.shard}"

    def redrive_all(self) -> None:
        """Send every message of the list to the stream it came from, after asking."""
        matching, total = self.browser.matching, self.browser.list.total

        def send() -> None:
            self.browser.session.run_in_background(self._redrive_all(matching))

        if total:
            which = "this message" if total == 1 else f"these {count(total)} messages"
            question = f"Send {which} again, each to the stream it came from?"
            confirm(self, question, "Send again", send)

    async def _redrive_all(self, matching: str) -> str:
        sent, stray = 0, 0
        last = (await self.browser.client.messages(limit=1)).last
        after = 0
        # A redriven message can come back into the queue; ids above ``last`` are left for another round.
        while rows := [r for r in await self._page(matching, after) if r.id <= last]:
            for row in rows:
                try:
                    await self.browser.client.redrive_message(row.id)
                    sent += 1
                except RefusedError as error:
                    if error.code not in {"no_origin", "no_such_stream"}:
                        raise
                    stray += 1
            after = rows[-1].id
        left = f"; {count(stray)} had no stream to go back to" if stray else ""
        return f"sent {counted(sent, 'message')} again{left}"

    async def _page(self, matching: str, after: int) -> tuple[MessageRow, ...]:
        return (await self.browser.client.messages(after=after, limit=_PAGE, matching=matching)).messages

    # Comparing with other messages.

    def action_diff(self) -> None:
        row, marked = self._row, self.browser.marked
        if row is None:
            return
        if marked is None and "duplicate" not in row.marks:
            self.browser.mark(row)
            self.post_message(ActionDone(f"marked #{row.id}; d on another message compares the two"))
            return
        self.browser.mark(None)
        if marked is None or marked.id != row.id:
            self.browser.session.run_in_background(self._compare(marked, row))

    async def _compare(self, first: MessageRow | None, second: MessageRow) -> str:
        if first is None:  # a duplicate is compared with the message that it repeats
            first = await self._first_of_duplicates(second)
        early, late = sorted((first.id, second.id))
        log = self.browser.message_log
        self.call_later(self._show_difference, await log.message(early), await log.message(late))
        return ""

    def _show_difference(self, first: MessageDetail, second: MessageDetail) -> None:
        self.app.push_screen(Diff(first, second))

    async def _first_of_duplicates(self, row: MessageRow) -> MessageRow:
        """The first message with the same id from the same stream."""
        stream = self.browser.origin(row)
        same = (await self.browser.message_log.messages(matching=f'id:"{row.message_id}"')).messages
        return next(each for each in same if self.browser.origin(each) == stream)

    def action_sequence(self) -> None:
        if (row := self._row) and row.sequence and row.total and row.total > 1:
            parts = SequenceDetail()
            begin = partial(parts.show, row.sequence, self.browser.origin(row))
            self.app.push_screen(PaneDialog(parts, begin))

    def action_life(self) -> None:
        self.browser.show_history()
