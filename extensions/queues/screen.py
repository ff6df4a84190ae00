"""Queues: their messages, the claims on these, and the time left of each claim."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from extensions.queues.columns import CLAIM_COLUMNS, MESSAGE_COLUMNS, QUEUE_COLUMNS
from rdss_sandbox.shapes.queues import PROJECT, Claim, Queue, QueueList, QueueMessage
from rdss_sandbox.text import figures
from tui.dialogs.confirm import confirm
from tui.keys.actions import bindings
from tui.screens.base import FollowingScreen
from tui.state.worker_messages import ActionFailed
from tui.text.pretty import pretty
from tui.widgets.row_list import RowList, Whole
from tui.widgets.text_lines import TextLines

_MESSAGES = 500


class QueuesScreen(FollowingScreen):
    """Shows the queues over the claims of one queue, beside its messages and one message in full."""

    # The messages of some streams are those of a queue too.
    KINDS = ("queue.",)
    RECORDS = True
    CHOOSES = "queues"
    BINDINGS: ClassVar[list[Any]] = bindings("Queues")
    DEFAULT_CSS = """
    QueuesScreen {
        #queues { height: 40%; }
        #claims, #messages { height: 1fr; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._chosen: tuple[str, str] | None = None
        self._trouble: tuple[str, ...] = ()

    def content(self) -> ComposeResult:
        with Vertical(classes="column -left"):
            yield RowList(QUEUE_COLUMNS, empty="no queues", title="queues", id="queues")
            yield RowList(CLAIM_COLUMNS, whole=_tell_claim, empty="nobody holds anything", id="claims")
        with Vertical(classes="column"):
            yield RowList(MESSAGE_COLUMNS, whole=_tell_message, empty="no messages", id="messages")
            yield TextLines(title="the message in full")

    def on_mount(self) -> None:
        self.query_one("#queues").focus()

    def action_release(self) -> None:
        """Release a claim after a question, since a worker that still holds it is not notified."""
        claim = self.query_one("#claims", RowList).current
        if self._chosen is None or not isinstance(claim, Claim):
            self.post_message(ActionFailed("there is no claim under the cursor of the claims"))
            return
        project, queue = self._chosen

        def release() -> None:
            command = f"sandbox claim release {queue} {claim.id}{_project(project)}"
            self.sandbox.run_in_background(self._release(project, queue, claim.id), command)

        held = figures.counted(len(claim.messages), "message")
        free = "is" if len(claim.messages) == 1 else "are"
        question = f"Release what {claim.client or 'nobody known'} holds? {held} {free} free again."
        confirm(self, question, "Release", release)

    async def _release(self, project: str, queue: str, claim: str) -> str:
        released = await self.client.queues.release(project, queue, claim)
        self.fetch_again()
        return "released" if released else "it had expired already"

    async def fetch(self) -> None:
        queues = self.client.queues
        asked, found = self._chosen, await queues.list()
        if asked is None and found.queues:
            asked = (found.queues[0].project, found.queues[0].name)
        claims: tuple[Claim, ...] = ()
        messages: tuple[QueueMessage, ...] = ()
        if asked in {(each.project, each.name) for each in found.queues}:
            claims = await queues.claims(*asked)
            messages = (await queues.messages(*asked, limit=_MESSAGES)).messages
        self.call_later(self._show, asked, found, claims, messages)

    def _show(
        self,
        asked: tuple[str, str] | None,
        found: QueueList,
        claims: tuple[Claim, ...],
        messages: tuple[QueueMessage, ...],
    ) -> None:
        """Show all queues, and the claims and messages of the queue ``asked`` (project and name)."""
        self.query_one("#queues", RowList).fill(found.queues)
        if found.trouble != self._trouble:
            self._trouble = found.trouble
            for why in self._trouble:
                self.post_message(ActionFailed(why))
        if self._chosen not in {None, asked}:
            return
        self._chosen = asked
        self.query_one("#claims", RowList).fill(claims)
        self.query_one("#messages", RowList).fill(messages)
        name = asked[1] if asked else "no queue"
        total = next((q.total for q in found.queues if (q.project, q.name) == asked), 0)
        self._show_counts(name, claims, total)

    def _show_counts(self, name: str, claims: tuple[Claim, ...], total: int) -> None:
        held = figures.counted(sum(len(claim.messages) for claim in claims), "message")
        hold = "holds" if len(claims) == 1 else "hold"
        sentence = f"{name}: {figures.counted(len(claims), 'claim')} {hold} {held}"
        self.query_one("#claims", RowList).border_title = Content(sentence)
        shown = f", the first {figures.count(_MESSAGES)} shown" if total > _MESSAGES else ""
        waiting = f"{name}: {figures.counted(total, 'message')}{shown}"
        self.query_one("#messages", RowList).border_title = Content(waiting)

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        row = message.row
        if isinstance(row, Queue):
            self._chosen = (row.project, row.name)
            self.sandbox.command = f"sandbox claim list {row.name}{_project(row.project)}"
            self.fetch_again()

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        row, shown = message.row, self.query_one(TextLines)
        if message.control.id == "messages" and not shown.has_focus:  # its place is the reader's then
            shown.show(_lines(row) if isinstance(row, QueueMessage) else (), json=True)


def _project(project: str) -> str:
    return "" if project == PROJECT else f" --project {project}"


def _tell_claim(claim: Claim) -> Whole:
    held = figures.counted(len(claim.messages), "message")
    sentence = f"{claim.client or 'a client'} holds {held} for another {figures.span(claim.left)}"
    return sentence, pretty(claim)


def _tell_message(row: QueueMessage) -> Whole:
    return f"message {row.id}", _lines(row)


def _lines(row: QueueMessage) -> list[str]:
    """The fields of the queue message and its body, as lines."""
    known = {"id": row.id, "claim": row.claim, "claimed": row.claims, "ends in": figures.span(row.left)}
    try:
        return pretty(known | {"body": msgspec.json.decode(row.body)})
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [*pretty(known), bytes(row.body).decode(errors="replace")]
