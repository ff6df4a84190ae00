"""The frame of every screen, and how a screen keeps up with the sandbox."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.containers import Container
from textual.css.query import NoMatches
from textual.screen import Screen

from rdss_sandbox.client import AsyncClient
from rdss_sandbox.shapes.events import News
from tui.dialogs.whole_row import WholeRow
from tui.panes.message_browser import MessageBrowser
from tui.session import Session, session_of
from tui.state.worker_messages import ActionFailed
from tui.widgets.banner import Banner
from tui.widgets.command_line import CommandLine
from tui.widgets.key_footer import KeyFooter
from tui.widgets.row_list import RowList

_PAUSE_SECONDS = 0.05
_LOOKS = 60
"""How often a screen that just opened looks for a row before it gives up."""
_SHARE = 9
"""The pause after a fetch, in lengths of the fetch, so that a slow sandbox is asked less often."""


class MainScreen(Screen[None]):
    """A screen with a key; subclasses give the panes between banner and footer by ``content``.

    ``CHOOSES`` is the id of the list in which enter chooses what the others show.
    """

    CHOOSES: ClassVar[str] = ""

    def compose(self) -> ComposeResult:
        yield Banner()
        with Container(id="panes"):
            yield from self.content()
        yield CommandLine()
        yield KeyFooter()

    def content(self) -> ComposeResult:
        raise NotImplementedError

    def on_screen_resume(self) -> None:
        for rows in self.query(RowList):
            rows.look_again()

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        """Show a row in full, if its list can tell it; Textual calls the handlers of subclasses besides."""
        if (tell := message.control.whole) is not None:
            self.app.push_screen(WholeRow(*tell(message.row)))

    def on_message_browser_reading(self, message: MessageBrowser.Reading) -> None:
        """Make room for the message that is read, on a narrow screen."""
        self.set_class(message.reading, "-reading")

    @work(group="named", exclusive=True)
    async def show_named(self, name: str) -> None:
        """Put the cursor on the row of this name, once one comes; in the list of ``CHOOSES`` choose it."""
        for _ in range(_LOOKS):
            for rows in self.query(RowList):
                if (index := rows.find(lambda row: name in _names_of(row))) is not None:
                    rows.focus()
                    rows.move_to(index)
                    if rows.id == self.CHOOSES and not rows.marked(rows.current):
                        rows.action_open()
                    return
            await asyncio.sleep(_PAUSE_SECONDS)
        self.post_message(ActionFailed(f"nothing is listed here by the name {name}"))

    @property
    def sandbox(self) -> Session:
        return session_of(self)

    @property
    def client(self) -> AsyncClient:
        return self.sandbox.client


def _names_of(row: object) -> set[object]:
    return {getattr(row, field, None) for field in ("name", "type", "value")}


class FollowingScreen(MainScreen):
    """A screen that fetches what it shows when it comes up, and again at news that concern it.

    These are events whose kind begins with one of ``KINDS``, and with ``RECORDS`` new records. What changes
    without either is fetched every ``AGAIN_SECONDS``. Only the screen that is shown fetches.
    """

    KINDS: ClassVar[tuple[str, ...]] = ()
    RECORDS: ClassVar[bool] = False
    AGAIN_SECONDS: ClassVar[float | None] = 1.0

    def __init__(self) -> None:
        super().__init__()
        self._due = asyncio.Event()
        self._failure = ""

    async def fetch(self) -> None:
        """Fetch what the screen shows and post it. May raise the session's failures."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self._keep_fetching()
        self.watch(self.app, "news", self._notice)
        if self.AGAIN_SECONDS:
            self.set_interval(self.AGAIN_SECONDS, self._fetch_if_connected)

    def on_screen_resume(self) -> None:
        self.fetch_again()

    def fetch_again(self) -> None:
        """Fetch as soon as the present fetch is over."""
        if self in self.app.screen_stack:
            self._due.set()

    def _notice(self, news: News) -> None:
        records = self.RECORDS and bool(news.streams)
        if news.first or records or any(kind.startswith(self.KINDS) for kind in news.kinds):
            self.fetch_again()

    def _fetch_if_connected(self) -> None:
        if not self.sandbox.lost:
            self.fetch_again()

    @work(group="following", exclusive=True)
    async def _keep_fetching(self) -> None:
        now = asyncio.get_running_loop().time
        while True:
            await self._due.wait()
            self._due.clear()
            began, failure = now(), ""
            try:
                await self.fetch()
            except self.sandbox.failures as error:
                failure = str(error)
                if failure != self._failure and not self.sandbox.lost:
                    self.post_message(ActionFailed(failure))
            except NoMatches:
                # An app that ends takes away what its screens show before it ends their workers.
                if self.app.is_running:
                    raise
                return
            self._failure = failure
            await asyncio.sleep(max(_PAUSE_SECONDS, _SHARE * (now() - began)))
