"""The audit log: what was dispatched, searchable, and the objects it lies in by date."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import ModalScreen

from emulator.resources import Topology
from tui.scopes import audited
from tui.screens.place import Place
from tui.widgets.message_browser import MessageBrowser
from tui.widgets.message_desk import MessageDesk
from tui.widgets.message_list import MessageList
from tui.widgets.object_browser import ObjectBrowser
from tui.widgets.object_view import ObjectView


class AuditScreen(Place):
    """The audit stream's messages over the audit bucket's objects."""

    def content(self) -> ComposeResult:
        with Container(id="panes"):
            yield ObjectBrowser(_bucket)
            yield MessageDesk(MessageBrowser(audited))

    def on_mount(self) -> None:
        self.query_one(MessageList).focus()

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
