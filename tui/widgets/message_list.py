"""The message list and its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import UNSET

from rdss_sandbox.files.record_lines import RecordAddress, place_in_key
from rdss_sandbox.questions.message_filter import OF_A_RECORD
from rdss_sandbox.shapes.contract import Contract, ContractField
from rdss_sandbox.shapes.events import News
from rdss_sandbox.shapes.messages import MessageRow
from rdss_sandbox.shapes.streams import AMQP_PREFIX
from rdss_sandbox.text.figures import clock_time, shard, size, tail
from tui.text.columns import ListColumn
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


Columns = Mapping[str, ListColumn[MessageRow]]

HERE: Final[Columns] = {
    "time": ListColumn("time (UTC)", 12, lambda row: clock_time(row.time), "dim", worth=9),
    "stream": ListColumn("stream", 7, lambda row: row.stream, worth=8),
    "shard": ListColumn("shard", 5, lambda row: shard(row.shard), "dim", worth=6),
    "number": ListColumn("number", 8, lambda row: tail(row.sequence_number, 8), "dim", worth=3),
    "type": ListColumn("type", 17, lambda row: row.message_type or "unreadable", _code_tone, worth=9),
    "sequence": ListColumn("part", 5, part, "accent", right=True, worth=7),
    "size": ListColumn("size", 7, lambda row: size(row.size), right=True, worth=7),
    "code": ListColumn("code", 9, lambda row: row.code or "", _code_tone, worth=8),
    "mark": ListColumn(
        "mark", 4, lambda row: "".join(mark[0].upper() for mark in row.marks), _mark_tone, worth=8
    ),
    "id": ListColumn("message id", 9, lambda row: row.message_id or "", "dim", worth=10, stretch=True),
}
"""The columns by the fields that they show."""
COPIED: Final[Columns] = {
    **HERE,
    "stream": ListColumn("from", 7, lambda row: copied_from(row).stream, worth=8),
    "shard": ListColumn("shard", 5, lambda row: shard(copied_from(row).shard_id), "dim", worth=6),
}
"""Columns of the audit log: the stream and shard of the copied record, the number of the entry itself."""


def columns_of_contract(contract: Contract, columns: Columns) -> tuple[ListColumn[MessageRow], ...]:
    """Those of the columns whose field a record has or the contract declares, and one for each listed label.

    Before the contract is known they are all there.
    """
    declared = {field.name for field in contract.fields if field.indexed} or columns.keys()
    kept = [each for name, each in columns.items() if name in declared or name in OF_A_RECORD]
    labels = [_label(field) for field in contract.fields if field.listed]
    return (*kept[:-1], *labels, *kept[-1:])


def _label(field: ContractField) -> ListColumn[MessageRow]:
    """The column of a field that is the contract's own."""

    def tell(row: MessageRow) -> str:
        own = {} if row.labels is UNSET else row.labels
        value = own.get(field.column, getattr(row, field.column, None))
        return "" if value in (None, UNSET) else str(value)

    return ListColumn(field.name, 10, tell, worth=4)


_NO_MESSAGES = "no messages; send one: sandbox message sample | sandbox send -"
_NO_MATCH = "no message matches; esc drops the filter"
_REPLACING = frozenset(("sandbox.reset", "snapshot.loaded"))
"""Events after which all messages are others."""


def came(news: News) -> bool:
    """Whether there may be new messages."""
    return news.first or bool(news.streams) or not _REPLACING.isdisjoint(news.kinds)


class MessageList(RowList[MessageRow]):
    """A live list of messages, with the columns of their contract."""

    def __init__(self, marked: Callable[[MessageRow], bool], columns: Columns = HERE) -> None:
        self._of_fields = columns
        super().__init__(
            (),
            live=came,
            marked=marked,
            empty=_NO_MESSAGES,
        )

    def explain_none(self, *, filtered: bool) -> None:
        """Choose what an empty list says: that nothing was sent, or that nothing matches."""
        self._empty = _NO_MATCH if filtered else _NO_MESSAGES

    def on_mount(self) -> None:
        self.watch(self.app, "contract", self._choose)

    def _choose(self, contract: Contract) -> None:
        self.show_columns(columns_of_contract(contract, self._of_fields))
