"""The tables of the message index, and how its rows are written and read, made from a contract's fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final

from msgspec import UNSET

from emulator.message_index.sql_filter import label_column
from rdss_sandbox.questions.message_filter import MARKS
from rdss_sandbox.shapes.messages import MessageRow
from schemas.contract import Contract, Peek

FORMAT: Final = 5
FROM: Final = "FROM message JOIN shard ON shard.no = message.shard_no"

_OF_THE_RECORD: Final = ("id", "time", "shard_no", "sequence_number", "partition_key")
_OF_THE_INDEX: Final = ("size", "marks", "digest", "expires")
_KEPT: Final = {
    "id": "message_id",
    "type": "message_type",
    "sequence": "sequence",
    "position": "position",
    "total": "total",
    "code": "code",
}
"""The fields that the index has a column for, whatever the contract: its column stays empty without one."""

_SHOWN: Final = (
    *("id", "time", "stream", "shard", "sequence_number", "partition_key", "message_id", "message_type"),
    *("sequence", "position", "total", "size", "code", "marks"),
)
"""The columns behind the first fields of ``MessageRow``, in their order, which ends with its marks."""
_MARKS_AT: Final = len(_SHOWN) - 1
_NAMED: Final = ("message_class", "tenant", "version")
"""The labels that the list's shape has a name of its own for; others stand in its ``labels``."""
_MARKS_OF: Final = tuple(
    tuple(mark for bit, mark in enumerate(MARKS) if bits & 1 << bit) for bits in range(1 << len(MARKS))
)


class MessageTables:
    """The statements for one contract. ``values_of`` gives what a row keeps of a message's own fields."""

    values_of: Callable[[Peek], tuple[Any, ...]]

    def __init__(self, contract: Contract) -> None:
        labels = [field for field in contract.fields if field.label and field.indexed]
        kept = [field for field in contract.fields if field.name in _KEPT]
        self.declared = " ".join(f"{field.name}:{field.column}" for field in (*kept, *labels))
        self.values_of = _build_reader([field.attribute for field in (*kept, *labels)])
        label_columns = [label_column(field) for field in labels]
        columns = (*_OF_THE_RECORD, *(_KEPT[field.name] for field in kept), *label_columns, *_OF_THE_INDEX)
        values = ", ".join("?" * len(columns))
        self.insert = f"INSERT INTO message ({', '.join(columns)}) VALUES ({values})"  # noqa: S608 -- names
        self.create = _render_tables(self.declared, label_columns)
        named = {field.column: field for field in labels if field.column in _NAMED}
        others = [field for field in labels if field.column not in _NAMED]
        self._others = tuple(field.column for field in others)
        in_order = [named[column] for column in _NAMED if column in named]
        self.select = ", ".join((*_SHOWN, *map(label_column, (*in_order, *others))))
        self._as_selected = len(named) == len(_NAMED) and not others
        self._named_here = tuple(column in named for column in _NAMED)

    def build_row(self, values: tuple[Any, ...]) -> MessageRow:
        """Build a row of the message list from the values that ``select`` named."""
        # By position: by their names it would take four times as long.
        row = (*values[:_MARKS_AT], _MARKS_OF[values[_MARKS_AT]], *values[_MARKS_AT + 1 :])
        return MessageRow(*(row if self._as_selected else self._place_labels(row)))

    def _place_labels(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values of a row in the order of its fields."""
        labels = iter(row[len(_SHOWN) :])
        named = [next(labels) if here else UNSET for here in self._named_here]
        others = dict(zip(self._others, labels, strict=True)) if self._others else UNSET
        return (*row[: len(_SHOWN)], *named, others)


def _render_tables(declared: str, label_columns: Sequence[str]) -> str:
    labels = "".join(f"{column}, " for column in label_columns)
    return f"""
CREATE TABLE declared (fields TEXT NOT NULL);
INSERT INTO declared VALUES ('{declared}');
CREATE TABLE shard (
  no INTEGER PRIMARY KEY, stream TEXT NOT NULL, shard TEXT NOT NULL, generation TEXT NOT NULL,
  read_up_to TEXT, UNIQUE (stream, shard, generation));
CREATE TABLE message (
  id INTEGER PRIMARY KEY, time REAL NOT NULL, shard_no INTEGER NOT NULL, sequence_number TEXT NOT NULL,
  partition_key TEXT NOT NULL, message_id TEXT, message_type TEXT, sequence TEXT, position INTEGER,
  total INTEGER, code TEXT, {labels}
  size INTEGER NOT NULL, marks INTEGER NOT NULL, digest INTEGER NOT NULL, expires REAL);
CREATE INDEX message_by_id ON message (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX message_by_digest ON message (digest) WHERE message_id IS NULL;
CREATE INDEX message_by_sequence ON message (sequence, position) WHERE total > 1;
"""  # noqa: S608 -- names of columns


def _build_reader(attributes: Sequence[str]) -> Callable[[Peek], tuple[Any, ...]]:
    """Return a function that reads these attributes, in their order."""
    if len(attributes) > 1:
        return attrgetter(*attributes)
    return lambda peek: tuple(getattr(peek, attribute) for attribute in attributes)
