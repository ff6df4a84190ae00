"""The audit log: its progress, its entries from the stream or from the bucket, and the bucket's objects."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from rdss_sandbox.client import RefusedError
from rdss_sandbox.shapes.audit import AuditPlace, AuditStatus
from rdss_sandbox.shapes.topology import Topology
from rdss_sandbox.text.figures import count, counted
from tui.dialogs.pane_dialog import PaneDialog
from tui.keys.actions import ActionGroup, bindings
from tui.panes.message_actions import MessageActions
from tui.panes.message_browser import MessageBrowser
from tui.panes.object_browser import ObjectBrowser
from tui.screens.base import FollowingScreen
from tui.widgets.message_list import COPIED, MessageList
from tui.widgets.object_view import ObjectView


class AuditScreen(FollowingScreen):
    """Shows the objects of the audit bucket beside the entries of the audit log."""

    RECORDS = True
    BINDINGS: ClassVar[list[Any]] = bindings(ActionGroup.AUDIT)

    def __init__(self) -> None:
        super().__init__()
        self._place: AuditPlace = "stream"
        self._status: AuditStatus | None = None

    def content(self) -> ComposeResult:
        yield ObjectBrowser(_bucket)
        with Vertical(id="entries-of-the-log"):
            yield Static("", id="how-far", markup=False)
            yield MessageActions(MessageBrowser(lambda _: "", COPIED, "stream"))

    def on_mount(self) -> None:
        self.query_one(MessageList).focus()

    async def fetch(self) -> None:
        try:
            self.call_later(self._show_status, await self.client.audit_status())
        except RefusedError as error:
            self.query_one("#how-far", Static).update(str(error))

    def _show_status(self, status: AuditStatus) -> None:
        waiting = f", {count(status.pending)} on the way" if status.pending else ""
        copied = f"copied to {status.stream}: {count(status.copied)}"
        loaded = (
            f"loaded into {status.bucket}: {count(status.delivered)} in {counted(status.objects, 'object')}"
        )
        self.query_one("#how-far", Static).update(f"{copied}   {loaded}{waiting}")
        if status != self._status:
            # Entries are copied and delivered after their message, without an event that the lists see.
            self._status = status
            self.query_one(MessageList).look_again()
            self.query_one(ObjectBrowser).look_again()

    def action_place(self) -> None:
        self._place = "bucket" if self._place == "stream" else "stream"
        self.query_one(MessageBrowser).show_audit(self._place)

    def on_object_browser_opened(self, message: ObjectBrowser.Opened) -> None:
        shown = ObjectView()
        self.app.push_screen(PaneDialog(shown, partial(shown.show, message.bucket, message.key)))


def _bucket(topology: Topology) -> str:
    return topology.audit.bucket if topology.audit else ""
