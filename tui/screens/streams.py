"""Streams: the lineage tree of shards, and the messages of the chosen stream or shard."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from textual.app import ComposeResult
from textual.containers import Container, Vertical

from rdss_sandbox.shapes.streams import Reshard
from tui.keys.actions import Group, bindings
from tui.panes.message_actions import MessageActions
from tui.panes.message_browser import MessageBrowser
from tui.screens.base import MainScreen
from tui.widgets.event_list import EventList
from tui.widgets.message_list import MessageList
from tui.widgets.reader_list import ReaderList
from tui.widgets.stream_tree import StreamTree, scope


class StreamsScreen(MainScreen):
    """Shows streams, readers and events beside the messages; splits and merges shards."""

    BINDINGS: ClassVar[list[Any]] = bindings(Group.STREAMS)

    def content(self) -> ComposeResult:
        with Container(id="panes"):
            with Vertical(id="overview"):
                yield StreamTree()
                yield ReaderList()
                yield EventList()
            yield MessageActions(MessageBrowser())

    def on_mount(self) -> None:
        self.watch(self.app, "snapshot", self._show)
        self.query_one(MessageList).focus()

    def _show(self) -> None:
        if snapshot := self.sandbox.snapshot:
            self.query_one(StreamTree).show(snapshot)
            self.query_one(ReaderList).show(snapshot)

    def on_stream_tree_chosen(self, message: StreamTree.Chosen) -> None:
        self.query_one(MessageBrowser).show_scope(scope(message.branch))

    def on_message_browser_reading(self, message: MessageBrowser.Reading) -> None:
        self.set_class(message.reading, "-reading")

    def action_split(self) -> None:
        self._reshard("split")

    def action_readers(self) -> None:
        """Move between the tree and the readers; narrow screens have room for one of them."""
        self.toggle_class("-readers")
        shown = self.query_one(ReaderList)
        if shown.display and not shown.has_focus:
            shown.focus()
        else:
            self.query_one(StreamTree).focus()

    def action_merge(self) -> None:
        self._reshard("merge")

    def _reshard(self, action: Literal["split", "merge"]) -> None:
        line = self.query_one(StreamTree).current
        if line is None:
            return
        branch = line.branch
        name, shard = branch.stream.name, branch.shard.id if branch.shard else None

        async def reshard() -> str:
            after = await self.client.reshard(name, Reshard(action, shard))
            return f"{name}: {after.open_shards} open shards, {after.closed_shards} closed"

        self.sandbox.run_in_background(
            reshard(), f"sandbox reshard {action} {name}{f' {shard}' if shard else ''}"
        )
