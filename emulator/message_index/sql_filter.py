"""Compiles filters of the message list to SQL conditions over the index."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from rdss_sandbox.questions.message_filter import MARKS, OF_A_RECORD, Kind, Term, read_filter
from schemas.fields import Field

Parameter: TypeAlias = str | int | float


class IndexColumn(NamedTuple):
    """What a field of the filter language is in the index: its column and its kind."""

    name: str
    kind: Kind


def label_column(field: Field) -> str:
    """The column of a label: apart from the index's own columns, whatever a contract calls it."""
    return f"label_{field.column}"


def list_columns(fields: Iterable[Field]) -> dict[str, IndexColumn]:
    """The fields that a filter may name: those of the contract that are indexed, and those of a record."""
    declared = {
        field.name: IndexColumn(label_column(field) if field.label else field.column, field.kind)
        for field in fields
        if field.indexed
    }
    return declared | {
        name: IndexColumn(_OF_A_RECORD.get(name, name), kind) for name, kind in OF_A_RECORD.items()
    }


_OF_A_RECORD: Final = {"key": "partition_key", "number": "sequence_number", "mark": "marks"}


@dataclass(frozen=True, slots=True)
class SqlCondition:
    """An SQL condition over the message list's columns, with its parameters. An empty one is always true."""

    sql: str
    parameters: tuple[Parameter, ...]

    @property
    def everything(self) -> bool:
        return not self.sql


def compile_filter(text: str, columns: Mapping[str, IndexColumn]) -> SqlCondition:
    """Compile the filter ``text`` over these columns. Raises ``FilterError`` when it is invalid."""
    parts: list[str] = []
    parameters: list[Parameter] = []
    for term in read_filter(text, {name: column.kind for name, column in columns.items()}):
        condition = _compile_term(term, columns)
        # A NULL column does not match a term, so it matches the excluded term: hence coalesce.
        parts.append(f"NOT coalesce({condition.sql}, 0)" if term.excluded else f"({condition.sql})")
        parameters += condition.parameters
    return SqlCondition(" AND ".join(parts), tuple(parameters))


def _compile_term(term: Term, columns: Mapping[str, IndexColumn]) -> SqlCondition:
    if term.field is None:
        word = f"%{_escape_like(str(term.values[0]))}%"
        return SqlCondition(r"message_id LIKE ? ESCAPE '\' OR partition_key LIKE ? ESCAPE '\'", (word, word))
    column, kind = columns[term.field]
    if term.operator == "=":
        each = [_compile_equals(kind, column, value) for value in term.values]
        sql = " OR ".join(condition.sql for condition in each)
        return SqlCondition(sql, tuple(parameter for condition in each for parameter in condition.parameters))
    value = term.values[0]
    if isinstance(value, str):
        # Sequence numbers exceed 64 bits. Among decimals without leading zeros the longer one is larger.
        return SqlCondition(f"(length({column}), {column}) {term.operator} (?, ?)", (len(value), value))
    assert value is not None
    return SqlCondition(f"{column} {term.operator} ?", (value,))


def _compile_equals(kind: Kind, column: str, value: str | float | None) -> SqlCondition:
    if kind == "mark":
        if value is None:
            return SqlCondition("marks = 0", ())
        return SqlCondition("marks & ? != 0", (1 << MARKS.index(str(value)),))
    if value is None:
        return SqlCondition(f"{column} IS NULL", ())
    if not isinstance(value, str):
        return SqlCondition(f"{column} = ?", (value,))
    if kind == "identifier" and not {"*", "?"} & {*value}:
        # IN over the likely spellings uses an index, which LIKE does not.
        spellings = tuple(dict.fromkeys((value, value.lower(), value.upper())))
        return SqlCondition(f"{column} IN ({', '.join('?' * len(spellings))})", spellings)
    return SqlCondition(rf"{column} LIKE ? ESCAPE '\'", (_escape_like(value),))


def _escape_like(pattern: str) -> str:
    escaped = re.sub(r"([\\%_])", r"\\\1", pattern)
    return escaped.replace("*", "%").replace("?", "_")
