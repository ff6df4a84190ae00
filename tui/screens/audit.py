"""The audit log, entry by entry, from its stream or from its bucket, and the objects it lies in by date."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from rdss_sandbox.shapes.audit import AuditPlace, AuditStatus
from rdss_sandbox.shapes.topology import Topology
from tui.keys.actions import Group, bindings
from tui.panes.message_actions import MessageActions
from tui.panes.message_browser import MessageBrowser
from tui.panes.object_browser import ObjectBrowser
from tui.screens.base import MainScreen
from tui.text.figures import count
from tui.widgets.message_list import AUDIT_COLUMNS, MessageList
from tui.widgets.object_view import ObjectView

_AGAIN_SECONDS = 1.0


class AuditScreen(MainScreen):
    """How far the audit log is, its entries where they lie, and the audit bucket's objects."""

    BINDINGS: ClassVar[list[Any]] = bindings(Group.AUDIT)

    class Came(Message):
        """How far the audit log is."""

        def __init__(self, status: AuditStatus) -> None:
            super().__init__()
            self.status = status

    def __init__(self) -> None:
        super().__init__()
        self._place: AuditPlace = "stream"
        self._status: AuditStatus | None = None

    def content(self) -> ComposeResult:
        with Container(id="panes"):
            yield ObjectBrowser(_bucket)
            with Vertical(id="entries-of-the-log"):
                yield Static("", id="how-far", markup=False)
                yield MessageActions(MessageBrowser(lambda _: "", AUDIT_COLUMNS, "stream"))

    def on_mount(self) -> None:
        self.query_one(MessageList).focus()
        self.set_interval(_AGAIN_SECONDS, self._ask)

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._ask()

    def _ask(self) -> None:
        if self.is_current and not self.sandbox.lost:
            self._fetch()

    @work(group="audit", exclusive=True)
    async def _fetch(self) -> None:
        try:
            self.post_message(self.Came(await self.client.audit_status()))
        except self.sandbox.failures as error:
            if not self.sandbox.lost:
                self.query_one("#how-far", Static).update(str(error))

    def on_audit_screen_came(self, message: Came) -> None:
        status = message.status
        waiting = f", {count(status.pending)} on the way" if status.pending else ""
        copied = f"copied to {status.stream}: {count(status.copied)}"
        loaded = f"loaded into {status.bucket}: {count(status.delivered)} in {count(status.objects)} objects"
        self.query_one("#how-far", Static).update(f"{copied}   {loaded}{waiting}")
        if status != self._status:
            # Copies are made, and delivered, after the message itself came: nothing else tells of them.
            self._status = status
            self.query_one(MessageList).look_again()
            self.query_one(ObjectBrowser).look_again()

    def action_place(self) -> None:
        self._place = "bucket" if self._place == "stream" else "stream"
        self.query_one(MessageBrowser).read_audit(self._place)

    def on_message_browser_reading(self, message: MessageBrowser.Reading) -> None:
        self.set_class(message.reading, "-reading")

    def on_object_browser_opened(self, message: ObjectBrowser.Opened) -> None:
        self.app.push_screen(ObjectOver(message.bucket, message.key))


def _bucket(topology: Topology) -> str:
    return topology.audit.bucket if topology.audit else ""


class ObjectOver(ModalScreen[None]):
    """An object over the screen it was opened on."""

    BINDINGS: ClassVar[list[Any]] = [("escape,q", "dismiss(None)", "Close")]
    DEFAULT_CSS = """
    ObjectOver { align: center middle; }
    ObjectOver > ObjectView { width: 96%; height: 92%; background: $surface; border: round $primary; }
    """

    def __init__(self, bucket: str, key: str) -> None:
        super().__init__()
        self._bucket = bucket
        self._key = key

    def compose(self) -> ComposeResult:
        yield ObjectView()

    def on_mount(self) -> None:
        self.query_one(ObjectView).show(self._bucket, self._key)
