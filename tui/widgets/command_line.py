"""The line above the footer: the shell command for the last action."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from tui.session import session_of


class CommandLine(Static):
    """Shows ``$ sandbox …`` for the last action, to copy it into a script."""

    DEFAULT_CSS = """
    CommandLine {
        height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis;
        background: $surface; color: $text-muted;
    }
    """

    def on_mount(self) -> None:
        self.watch(self.app, "command", self._show)

    def _show(self) -> None:
        command = session_of(self).command
        self.update(Content.assemble(("$ ", "bold $accent"), command) if command else "", layout=False)
