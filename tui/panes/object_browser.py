"""Buckets and their objects as folders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from rdss_sandbox.shapes.buckets import Bucket, ObjectRow
from rdss_sandbox.shapes.topology import Topology
from tui.dialogs.prompt import Prompt
from tui.keys.actions import Group, bindings
from tui.session import session_of
from tui.state.worker_messages import ActionFailed
from tui.text import figures
from tui.text.columns import Column
from tui.text.folders import Entry, above, level
from tui.widgets.row_list import RowList

_PAGE = 1000
_AGAIN_SECONDS = 3.0

ENTRY_COLUMNS: tuple[Column[Entry], ...] = (
    Column("name", 14, lambda row: f"{row.name}/" if row.objects else row.name, worth=9, stretch=True),
    Column("objects", 7, lambda row: figures.count(row.objects) if row.objects else "", right=True, worth=5),
    Column("size", 7, lambda row: figures.size(row.size) if row.key else "", right=True, worth=7),
    Column("modified (UTC)", 23, lambda row: figures.date_time(row.modified), lambda _: "dim", worth=4),
)


class ObjectBrowser(Vertical):
    """Shows all buckets, or the one that ``bucket`` selects from a topology, one folder at a time."""

    BINDINGS: ClassVar[list[Any]] = bindings(Group.BUCKETS)
    DEFAULT_CSS = """
    ObjectBrowser {
        #place { height: 1; padding: 0 1; background: $panel-darken-1; }
        RowList { height: 1fr; }
    }
    """

    class Listed(Message):
        """Buckets, or a page of a bucket's objects; ``first`` marks the first page."""

        def __init__(
            self, bucket: str, found: tuple[Bucket, ...] | tuple[ObjectRow, ...], *, first: bool
        ) -> None:
            super().__init__()
            self.bucket = bucket
            self.found = found
            self.first = first

    class Opened(Message):
        """An object was opened."""

        def __init__(self, bucket: str, key: str) -> None:
            super().__init__()
            self.bucket = bucket
            self.key = key

    def __init__(self, bucket: Callable[[Topology], str] = lambda _: "") -> None:
        super().__init__()
        self._named = bucket
        self._fixed = ""
        self.bucket = ""
        self.prefix = ""
        self._objects: dict[str, ObjectRow] = {}
        self._old = False

    def compose(self) -> ComposeResult:
        yield Static(id="place", markup=False)
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
        self.query_one("#place", Static).update(f"{bucket}/{prefix}" if bucket else "buckets")
        self.query_one(RowList).move_to(0)
        self._draw()
        self._list()

    def look_again(self) -> None:
        """List the buckets or objects again."""
        self._list()

    def _note_news(self) -> None:
        self._old = True

    def _list_again(self) -> None:
        if self._old:
            self._list()

    def _list(self) -> None:
        if self.screen in self.app.screen_stack:
            self._old = False
            self._fetch(self.bucket, self.prefix)

    @work(group="objects", exclusive=True)
    async def _fetch(self, bucket: str, prefix: str) -> None:
        app = session_of(self)
        try:
            if not bucket:
                self.post_message(self.Listed("", await app.client.buckets(), first=True))
                return
            after: str | None = None
            first = True
            while first or after:
                page = await app.client.objects(bucket, prefix=prefix, after=after, limit=_PAGE)
                self.post_message(self.Listed(bucket, page.objects, first=first))
                after, first = page.next, False
        except app.failures as error:
            self.post_message(ActionFailed(str(error)))

    def on_object_browser_listed(self, message: Listed) -> None:
        message.stop()
        if message.bucket != self.bucket:
            return
        if not message.bucket:
            entries = [Entry(b.name, "", 0, b.created) for b in message.found if isinstance(b, Bucket)]
            self.query_one(RowList).fill(entries)
            return
        self._objects |= {each.key: each for each in message.found if isinstance(each, ObjectRow)}
        self._draw()

    def _draw(self) -> None:
        if self.bucket:
            self.query_one(RowList).fill(level(self._objects.values(), self.prefix))

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        message.stop()
        entry: Entry = message.row
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
        def go(prefix: str | None) -> None:
            if prefix is not None:
                self._go(self.bucket, prefix)

        if self.bucket:
            self.app.push_screen(Prompt("Only objects whose key begins with", value=self.prefix), go)
