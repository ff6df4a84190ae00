"""The line above the footer: the command that does what was just done by hand."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from tui.session import session_of


class CommandLine(Static):
    """``$ sandbox …`` of the last action, so that what was seen here can go into a script."""

    DEFAULT_CSS = """
    CommandLine { height: 1; padding: 0 1; background: $surface; color: $text-muted; }
    """

    def on_mount(self) -> None:
        self.watch(self.app, "command", self._show)

    def _show(self) -> None:
        command = session_of(self).command
        self.update(Content.assemble(("$ ", "bold $accent"), command) if command else "", layout=False)
