"""Streams: the lineage tree, and the messages of what is chosen in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import Footer

from emulator.resources import Reshard
from tui.actions import Group, bindings
from tui.widgets.banner import Banner
from tui.widgets.command_line import CommandLine
from tui.widgets.message_browser import MessageBrowser
from tui.widgets.message_desk import MessageDesk
from tui.widgets.message_list import MessageList
from tui.widgets.stream_tree import StreamTree, scope

if TYPE_CHECKING:
    from tui.app import SandboxApp
    from tui.lineage import Branch


class StreamsScreen(Screen[None]):
    """What flows, where."""

    BINDINGS: ClassVar[list[Any]] = bindings(Group.STREAMS)

    def compose(self) -> ComposeResult:
        yield Banner()
        with Container(id="panes"):
            yield StreamTree()
            yield MessageDesk(MessageBrowser())
        yield CommandLine()
        yield Footer()

    def on_mount(self) -> None:
        self.watch(self.app, "snapshot", self._show)
        self.query_one(MessageList).focus()

    def _show(self) -> None:
        if snapshot := cast("SandboxApp", self.app).snapshot:
            self.query_one(StreamTree).show(snapshot)

    def on_stream_tree_chosen(self, message: StreamTree.Chosen) -> None:
        self.query_one(MessageBrowser).look_at(scope(message.branch))

    def on_message_browser_reading(self, message: MessageBrowser.Reading) -> None:
        self.set_class(message.reading, "-reading")

    def action_split(self) -> None:
        self._reshard("split")

    def action_merge(self) -> None:
        self._reshard("merge")

    def _reshard(self, action: Any) -> None:
        branch: Branch | None = self.query_one(StreamTree).current
        if branch is None:
            return
        app = cast("SandboxApp", self.app)
        shard = branch.shard.id if branch.shard else None
        name = branch.stream.name

        async def reshard() -> str:
            after = await app.client.reshard(name, Reshard(action, shard))
            return f"{name}: {after.open_shards} open shards, {after.closed_shards} closed"

        app.errand(reshard(), f"sandbox reshard {action} {name}{f' {shard}' if shard else ''}")
