"""Buckets and their objects as folders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message

from rdss_sandbox.shapes.buckets import Bucket, ObjectRow
from rdss_sandbox.shapes.topology import Topology
from rdss_sandbox.text import figures
from tui.dialogs.prompt import Prompt, ask
from tui.keys.actions import ActionGroup, bindings
from tui.session import session_of
from tui.state.worker_messages import ActionFailed
from tui.text.columns import ListColumn
from tui.text.folders import FolderEntry, above, level
from tui.widgets.row_list import RowList

_PAGE = 1000
_AGAIN_SECONDS = 3.0

ENTRY_COLUMNS: tuple[ListColumn[FolderEntry], ...] = (
    ListColumn("name", 14, lambda row: f"{row.name}/" if row.objects else row.name, worth=9, stretch=True),
    ListColumn(
        "objects", 7, lambda row: figures.count(row.objects) if row.objects else "", right=True, worth=5
    ),
    ListColumn("size", 7, lambda row: figures.size(row.size) if row.key else "", right=True, worth=7),
    ListColumn("modified (UTC)", 23, lambda row: figures.date_time(row.modified), "dim", worth=4),
)


class ObjectBrowser(Vertical):
    """Shows all buckets, or the one that ``bucket`` selects from a topology, one folder at a time."""

    BINDINGS: ClassVar[list[Any]] = bindings(ActionGroup.BUCKETS)
    DEFAULT_CSS = """
    ObjectBrowser {
        RowList { height: 1fr; }
    }
    """

    @dataclass
    class Opened(Message):
        """An object was opened."""

        bucket: str
        key: str

    def __init__(self, bucket: Callable[[Topology], str] = lambda _: "") -> None:
        super().__init__()
        self._named = bucket
        self._fixed = ""
        self.bucket = ""
        self.prefix = ""
        self._objects: dict[str, ObjectRow] = {}
        self._old = False
        self._listing = False
        self._failure = ""

    def compose(self) -> ComposeResult:
        yield RowList(ENTRY_COLUMNS, empty="nothing in here", id="entries")

    def on_mount(self) -> None:
        self.watch(self.app, "topology", self._begin)
        self.watch(self.app, "news", self._note_news)
        self.set_interval(_AGAIN_SECONDS, self._list_again)

    def _begin(self, topology: Topology) -> None:
        self._fixed = self._named(topology)
        self._go(self._fixed, "")

    def _go(self, bucket: str, prefix: str) -> None:
        if bucket != self.bucket:
            self._objects = {}
        self.bucket, self.prefix = bucket, prefix
        self.query_one(RowList).border_title = Content(f"{bucket}/{prefix}" if bucket else "buckets")
        self.query_one(RowList).await_rows()
        self.query_one(RowList).move_to(0)
        if self._objects:
            self._draw()
        self._old = True
        self._list()

    def look_again(self) -> None:
        """List the buckets or objects again, at once if they are not being listed."""
        self._old = True
        self._list_again()

    def _note_news(self) -> None:
        self._old = True

    def _list_again(self) -> None:
        # A listing that is under way goes on to its end, or news could keep it from ever getting there.
        if self._old and not self._listing and not session_of(self).lost:
            self._list()

    def _list(self) -> None:
        if self.screen in self.app.screen_stack:
            self._old, self._listing = False, True
            self._fetch(self.bucket, self.prefix)

    @work(group="objects", exclusive=True)
    async def _fetch(self, bucket: str, prefix: str) -> None:
        app, failure = session_of(self), ""
        try:
            if bucket:
                await self._fetch_objects(bucket, prefix)
            else:
                self.call_later(self._show_buckets, await app.client.buckets())
        except app.failures as error:
            failure = str(error)
            if failure != self._failure and not app.lost:
                self.post_message(ActionFailed(failure))
            self._old = True
        self._failure, self._listing = failure, False

    async def _fetch_objects(self, bucket: str, prefix: str) -> None:
        client = session_of(self).client
        found: dict[str, ObjectRow] = {}
        after: str | None = None
        while True:
            page = await client.objects(bucket, prefix=prefix, after=after, limit=_PAGE)
            rows = {each.key: each for each in page.objects}
            found |= rows
            after = page.next
            if not after:
                break
            self.call_later(self._show_objects, bucket, rows)
        self.call_later(self._show_objects, bucket, found, below=prefix)

    def _show_buckets(self, buckets: tuple[Bucket, ...]) -> None:
        if not self.bucket:
            self.query_one(RowList).fill([FolderEntry(b.name, "", 0, b.created) for b in buckets])

    def _show_objects(self, bucket: str, found: dict[str, ObjectRow], below: str | None = None) -> None:
        """Show a page of a bucket's objects, or with ``below`` all those of this prefix."""
        if bucket != self.bucket:
            return
        held = self._objects
        if below is not None:
            held = {key: each for key, each in held.items() if not key.startswith(below)}
        self._objects = held | found
        self._draw()

    def _draw(self) -> None:
        if self.bucket:
            self.query_one(RowList).fill(level(self._objects.values(), self.prefix))

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        message.stop()
        entry: FolderEntry = message.row
        if not self.bucket:
            self._go(entry.name, "")
        elif entry.objects:
            self._go(self.bucket, entry.key)
        else:
            self.post_message(self.Opened(self.bucket, entry.key))

    def action_up(self) -> None:
        if self.prefix:
            self._go(self.bucket, above(self.prefix))
        elif not self._fixed:
            self._go("", "")

    def action_prefix(self) -> None:
        if self.bucket:
            prompt = Prompt("Only objects whose key begins with", value=self.prefix)
            ask(self, prompt, lambda prefix: self._go(self.bucket, prefix))
