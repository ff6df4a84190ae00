"""Buckets: their objects by prefix, and the content of one object."""

from __future__ import annotations

from textual.app import ComposeResult

from tui.panes.object_browser import ObjectBrowser
from tui.screens.base import MainScreen
from tui.widgets.object_view import ObjectView


class BucketsScreen(MainScreen):
    """Shows the buckets beside the content of an object."""

    CHOOSES = "entries"

    def content(self) -> ComposeResult:
        yield ObjectBrowser()
        yield ObjectView()

    def on_mount(self) -> None:
        self.query_one("#entries").focus()

    def on_object_browser_opened(self, message: ObjectBrowser.Opened) -> None:
        self.query_one(ObjectView).show(message.bucket, message.key)
