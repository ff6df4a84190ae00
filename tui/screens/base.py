"""The frame of every screen: the banner above, the command line and the footer below."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Footer

from rdss_sandbox.client import AsyncClient
from tui.session import Session, session_of
from tui.widgets.banner import Banner
from tui.widgets.command_line import CommandLine
from tui.widgets.row_list import RowList


class MainScreen(Screen[None]):
    """A screen with a key; subclasses give the widgets between banner and footer by ``content``."""

    def compose(self) -> ComposeResult:
        yield Banner()
        yield from self.content()
        yield CommandLine()
        yield Footer()

    def content(self) -> ComposeResult:
        raise NotImplementedError

    def on_screen_resume(self) -> None:
        for rows in self.query(RowList):
            rows.look_again()

    @property
    def sandbox(self) -> Session:
        """The session of the app."""
        return session_of(self)

    @property
    def client(self) -> AsyncClient:
        return self.sandbox.client
