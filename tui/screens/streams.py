"""Streams: the lineage tree of shards, and the messages of the chosen stream or shard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, ClassVar, Literal

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from rdss_sandbox.client import RefusedError
from rdss_sandbox.shapes import readers
from rdss_sandbox.shapes.diagnosis import Finding
from rdss_sandbox.shapes.streams import Reshard, Stream, StreamDetail
from rdss_sandbox.text import figures, shell_commands
from tui.dialogs.client_findings import Findings
from tui.keys.actions import ActionGroup, bindings
from tui.panes.message_actions import MessageActions
from tui.panes.message_browser import MessageBrowser
from tui.screens.base import FollowingScreen
from tui.state.worker_messages import ObservedState
from tui.widgets.event_list import EventList
from tui.widgets.flow_plot import FlowPlots
from tui.widgets.message_list import MessageList
from tui.widgets.reader_list import ReaderTable
from tui.widgets.row_list import RowList
from tui.widgets.stream_tree import StreamTree, concerns, scope

_READERS_SECONDS = 0.9
"""Reads make no event: the readers are fetched with every state, but not more often than this."""


class StreamsScreen(FollowingScreen):
    """Shows streams, readers and events beside the messages; splits and merges shards."""

    AGAIN_SECONDS = None
    CHOOSES = "tree"
    BINDINGS: ClassVar[list[Any]] = bindings(ActionGroup.STREAMS)

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[Stream, StreamDetail] = {}
        self._readers = readers.ReaderList((), known=True)
        self._findings: tuple[Finding, ...] = ()
        self._readers_at = -_READERS_SECONDS
        self._snapshot_at = 0.0

    def content(self) -> ComposeResult:
        with Vertical(id="overview"):
            yield StreamTree()
            yield FlowPlots(id="plots")
            yield ReaderTable()
            yield EventList()
        yield MessageActions(MessageBrowser())

    def on_mount(self) -> None:
        self.watch(self.app, "snapshot", self.fetch_again)
        self.query_one(MessageList).focus()

    async def fetch(self) -> None:
        snapshot = self.sandbox.snapshot
        if snapshot is None:
            return
        looking = False
        if snapshot.at - self._readers_at >= _READERS_SECONDS:
            self._readers, self._readers_at = await self.client.readers(), snapshot.at
            looking = True
        streams = snapshot.status.streams
        try:
            found = await asyncio.gather(*map(self._detail, streams))
        except RefusedError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return  # a stream was deleted meanwhile, and the next state is without it
            raise
        self._known = dict(zip(streams, found, strict=True))
        self.call_later(self._draw, snapshot, found, self._readers, self._findings)
        # Afterwards: the streams are shown at once, and clients are judged meanwhile.
        findings = (await self.client.diagnosis()).findings if looking else self._findings
        if findings != self._findings:
            self._findings = findings
            self.call_later(self._draw, snapshot, found, self._readers, findings)

    async def _detail(self, stream: Stream) -> StreamDetail:
        """The stream with its shards; one whose figures are those of before did not change."""
        return self._known.get(stream) or await self.client.stream(stream.name)

    def _draw(
        self,
        snapshot: ObservedState,
        streams: Sequence[StreamDetail],
        readers: readers.ReaderList,
        findings: tuple[Finding, ...],
    ) -> None:
        self.query_one(StreamTree).show(snapshot, streams, readers, findings)
        self.query_one(ReaderTable).show(snapshot, readers)
        self._snapshot_at = snapshot.at
        self._plot()

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        if isinstance(message.control, StreamTree):
            self._plot()

    def _plot(self) -> None:
        """Draw the rate and the lag of what is under the cursor of the tree."""
        tree = self.query_one(StreamTree)
        if (line := tree.current) is not None:
            branch = line.branch
            label = (
                f"{branch.stream.name} {figures.shard(branch.shard.id)}"
                if branch.shard
                else branch.stream.name
            )
            plots = self.query_one(FlowPlots)
            plots.show(label, tree.records, tree.waiting, branch.key, self._snapshot_at)

    def on_stream_tree_chosen(self, message: StreamTree.Chosen) -> None:
        self.query_one(MessageBrowser).show_scope(scope(message.branch))

    def action_split(self) -> None:
        self._reshard("split")

    def action_readers(self) -> None:
        self._show_pane(self.query_one(ReaderTable))

    def action_events(self) -> None:
        self._show_pane(self.query_one(EventList))

    def action_plots(self) -> None:
        self._show_pane(self.query_one(FlowPlots))

    def _show_pane(self, pane: Widget) -> None:
        """Show a pane of the overview and focus it, or the tree if it was shown; narrow screens have one."""
        shown = self.has_class(f"-{pane.id}")
        for other in ("readers", "happened", "plots"):
            self.set_class(other == pane.id and not shown, f"-{other}")
        (self.query_one(StreamTree) if shown or not pane.can_focus else pane).focus()

    def action_findings(self) -> None:
        """Show what was found about the branch under the cursor, or about all where nothing was."""
        line = self.query_one(StreamTree).current
        here = tuple(each for each in self._findings if line is not None and concerns(each, line.branch))
        self.app.push_screen(Findings(here or self._findings))

    def action_merge(self) -> None:
        self._reshard("merge")

    def _reshard(self, action: Literal["split", "merge"]) -> None:
        line = self.query_one(StreamTree).current
        if line is None:
            return
        branch = line.branch
        name = branch.stream.name
        change = Reshard(action, branch.shard.id if branch.shard else None)

        async def reshard() -> str:
            after = await self.client.reshard(name, change)
            return f"{name}: {after.open_shards} open shards, {after.closed_shards} closed"

        self.sandbox.run_in_background(reshard(), shell_commands.reshard(name, change))
