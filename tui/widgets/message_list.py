"""The message list and its columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rdss_sandbox.figures import clock_time, shard, size, tail
from rdss_sandbox.record_lines import RecordAddress, place_in_key
from rdss_sandbox.shapes.events import News
from rdss_sandbox.shapes.messages import MessageRow
from rdss_sandbox.shapes.streams import AMQP_PREFIX
from tui.text.columns import Column
from tui.widgets.row_list import RowList

_MARK_TONES = {"oversize": "error", "late": "warning", "duplicate": "warning", "retried": "accent"}


def part(row: MessageRow) -> str:
    """``2/5`` for the second of five parts, empty for a message in one part."""
    return f"{row.position}/{row.total}" if row.total and row.total > 1 else ""


def copied_from(row: MessageRow) -> RecordAddress:
    """The record that an entry of the audit log is a copy of; the row itself if it is not a copy."""
    place = place_in_key(row.partition_key) or RecordAddress(row.stream, row.shard, row.sequence_number)
    return RecordAddress(place.stream.removeprefix(AMQP_PREFIX), place.shard_id, place.sequence_number)


def _mark_tone(row: MessageRow) -> str:
    return next((tone for mark, tone in _MARK_TONES.items() if mark in row.marks), "")


def _code_tone(row: MessageRow) -> str:
    return "error" if row.code else ""


MESSAGE_COLUMNS: tuple[Column[MessageRow], ...] = (
    Column("time (UTC)", 12, lambda row: clock_time(row.time), lambda _: "dim", worth=9),
    Column("stream", 7, lambda row: row.stream, worth=8),
    Column("shard", 5, lambda row: shard(row.shard), lambda _: "dim", worth=6),
    Column("number", 8, lambda row: tail(row.sequence_number, 8), lambda _: "dim", worth=3),
    Column("type", 17, lambda row: row.message_type or "unreadable", _code_tone, worth=9),
    Column("part", 5, part, lambda _: "accent", right=True, worth=7),
    Column("size", 7, lambda row: size(row.size), right=True, worth=7),
    Column("code", 9, lambda row: row.code or "", _code_tone, worth=8),
    Column("mark", 4, lambda row: "".join(mark[0].upper() for mark in row.marks), _mark_tone, worth=8),
    Column("message id", 8, lambda row: row.message_id or "", lambda _: "dim", worth=2, stretch=True),
)

_SOURCE = {
    "stream": Column[MessageRow]("from", 7, lambda row: copied_from(row).stream, worth=8),
    "shard": Column[MessageRow](
        "shard", 5, lambda row: shard(copied_from(row).shard_id), lambda _: "dim", worth=6
    ),
}
AUDIT_COLUMNS = tuple(_SOURCE.get(column.title, column) for column in MESSAGE_COLUMNS)
"""Columns of the audit log: the stream and shard of the copied record, the number of the entry itself."""


_REPLACING = frozenset(("sandbox.reset", "snapshot.loaded"))
"""Events after which all messages are others."""


def came(news: News) -> bool:
    """Whether there may be new messages."""
    return news.first or bool(news.streams) or not _REPLACING.isdisjoint(news.kinds)


class MessageList(RowList[MessageRow]):
    """A live list of messages."""

    def __init__(
        self, marked: Callable[[MessageRow], bool], columns: Sequence[Column[MessageRow]] = MESSAGE_COLUMNS
    ) -> None:
        super().__init__(
            columns,
            live=came,
            marked=marked,
            empty="no messages; send one with: sandbox message sample --count 10 | sandbox send -",
        )
