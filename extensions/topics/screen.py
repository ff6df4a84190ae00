"""Topics: their records, and their changes live, with the reason of each out-of-focus message."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message

from extensions.topics.columns import CHANGE_COLUMNS, RECORD_COLUMNS, TOPIC_COLUMNS
from rdss_sandbox.client import RefusedError
from rdss_sandbox.shapes.topics import Topic, TopicChange, TopicChangePage, TopicRecord, TopicRecordPage
from rdss_sandbox.text import figures
from tui.dialogs.prompt import Prompt, ask
from tui.keys.actions import bindings
from tui.screens.base import FollowingScreen
from tui.state.worker_messages import ActionFailed
from tui.text.pretty import pretty
from tui.widgets.row_list import RowList, Whole
from tui.widgets.text_lines import TextLines

_RECORDS = 1000
_CHANGES = 1000
_FIRST = "objects"
_NO_RECORDS = TopicRecordPage((), 0)
_NO_CHANGES = TopicChangePage((), 0)
_QUEUE = "queue"  # a query would take messages from it


class TopicsScreen(FollowingScreen):
    """Shows the topics over the records of one topic, beside its changes and one record in full."""

    # Publishes make no event, except what is projected from the streams.
    KINDS = ("topic.",)
    RECORDS = True
    CHOOSES = "topics"
    BINDINGS: ClassVar[list[Any]] = bindings("Topics")
    DEFAULT_CSS = """
    TopicsScreen {
        #topics { height: 30%; }
        #records, #changes { height: 1fr; }
    }
    """

    @dataclass
    class TopicsArrived(Message):
        """The records and changes of ``topic`` that match the filter ``matching``."""

        topic: str
        matching: str
        after: int
        topics: tuple[Topic, ...] = ()
        page: TopicRecordPage = _NO_RECORDS
        changes: TopicChangePage = _NO_CHANGES

    def __init__(self) -> None:
        super().__init__()
        self._topic = _FIRST
        self._matching = ""
        self._changes: deque[TopicChange] = deque(maxlen=_CHANGES)
        self._after = 0

    def content(self) -> ComposeResult:
        with Vertical(classes="column -left"):
            yield RowList(TOPIC_COLUMNS, empty="no topics", title="topics", id="topics")
            yield RowList(RECORD_COLUMNS, whole=_tell, empty="no records", id="records")
        with Vertical(classes="column"):
            yield RowList(
                CHANGE_COLUMNS, whole=_tell, empty="no change since you opened the topic", id="changes"
            )
            yield TextLines(title="the record in full")

    def on_mount(self) -> None:
        self.query_one("#records").focus()
        self._show_counts(_NO_RECORDS)

    def action_filter(self) -> None:
        hint = "/objectTitle LIKE '(?i)fish' AND /objectVersion > 1; 1=1 for every record"
        prompt = Prompt("Only records that match", hint=hint, value=self._matching)
        ask(self, prompt, lambda matching: self._show(self._topic, matching))

    def action_all(self) -> None:
        self._show(self._topic, "")

    def _show(self, topic: str, matching: str) -> None:
        """Show another topic or another filter, and its changes from now on."""
        self._topic, self._matching = topic, matching
        self._changes.clear()
        self._after = 0
        self.query_one("#changes", RowList).fill(())
        self.fetch_again()
        option = f' --filter "{matching}"' if matching else ""
        self.sandbox.command = f"sandbox topic subscribe {topic}{option}"

    async def fetch(self) -> None:
        arrived = self.TopicsArrived(self._topic, self._matching, self._after)
        topics = self.client.topics
        try:
            arrived.topics = await topics.list()
            of = {each.name: each for each in arrived.topics}.get(arrived.topic)
            if of is not None and of.kind != _QUEUE and of.records is not None:
                arrived.page = await topics.records(arrived.topic, matching=arrived.matching, limit=_RECORDS)
            if of is not None and of.kind != _QUEUE:
                arrived.changes = await topics.changes(
                    arrived.topic, matching=arrived.matching, after=arrived.after, limit=_CHANGES
                )
            self.post_message(arrived)
        except RefusedError as error:
            self.post_message(ActionFailed(str(error)))
            self.call_later(self._drop_filter, arrived.matching)

    def _drop_filter(self, matching: str) -> None:
        """Drop a filter that the sandbox refused."""
        if matching and matching == self._matching:
            self._show(self._topic, "")

    def on_topics_screen_topics_arrived(self, message: TopicsArrived) -> None:
        self.query_one("#topics", RowList).fill(message.topics)
        if (message.topic, message.matching, message.after) != (self._topic, self._matching, self._after):
            return
        if (empty := self._why_empty(message.topics)) and not message.page.total:
            self.query_one("#records", RowList).show_empty(empty)
        else:
            self.query_one("#records", RowList).fill(message.page.records)
        if message.changes.last < self._after:
            self._changes.clear()  # the sandbox restarted and counts from 1
        self._after = message.changes.last
        if message.changes.changes:
            self._changes.extendleft(message.changes.changes)
            self.query_one("#changes", RowList).fill(tuple(self._changes))
        self._show_counts(message.page)

    def _why_empty(self, topics: tuple[Topic, ...]) -> str:
        """The reason why the topic has no records to show."""
        of = {each.name: each for each in topics}.get(self._topic)
        if of is None:
            return "there is no such topic"
        if of.kind == _QUEUE:
            return "to look at a message of a queue would take it from its consumers"
        return (
            "no records"
            if of.records is not None
            else "it keeps no records: those who subscribe are sent each message once"
        )

    def _show_counts(self, page: TopicRecordPage) -> None:
        shown = f", the first {figures.count(_RECORDS)} shown" if page.total > _RECORDS else ""
        match = "matches" if page.total == 1 else "match"
        which = f" {match} {self._matching}" if self._matching else ""
        records = figures.counted(page.total, "record")
        self.query_one("#records", RowList).border_title = Content(f"{self._topic}: {records}{which}{shown}")
        left = sum(change.cmd == "oof" for change in self._changes)
        changes = figures.counted(len(self._changes), "change")
        self.query_one(
            "#changes", RowList
        ).border_title = f"{changes}, {figures.count(left)} left the topic or the filter"

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        if isinstance(message.row, Topic) and message.row.name != self._topic:
            self._show(message.row.name, "")

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        row = message.row
        if isinstance(row, TopicRecord | TopicChange) and self.focused is message.control:
            self.query_one(TextLines).show(_lines(row), json=True)


def _tell(row: TopicRecord | TopicChange) -> Whole:
    return f"the record {row.sow_key or 'without a key'}", _lines(row)


def _lines(row: TopicRecord | TopicChange) -> list[str]:
    """The record with its key and origin, as lines."""
    head = {"sow_key": row.sow_key, "correlation_id": row.correlation_id}
    if isinstance(row, TopicChange):
        head |= {"cmd": row.cmd, "reason": row.reason, "user_id": row.user_id, "bookmark": row.bookmark}
    fields = {name: value for name, value in head.items() if value}
    try:
        return pretty(fields | {"data": msgspec.json.decode(row.data)})
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [*pretty(fields), bytes(row.data).decode(errors="replace")]
