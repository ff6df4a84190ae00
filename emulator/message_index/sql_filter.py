"""Compiles filters of the message list (``rdss_sandbox.message_filter``) to SQL conditions over the index."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from rdss_sandbox.message_filter import FIELDS, MARKS, Term, read_filter

Parameter: TypeAlias = str | int | float

COLUMNS: Final = {
    "type": "message_type",
    "class": "message_class",
    "code": "code",
    "stream": "stream",
    "shard": "shard",
    "key": "partition_key",
    "id": "message_id",
    "sequence": "sequence",
    "tenant": "tenant",
    "version": "version",
    "number": "sequence_number",
    "position": "position",
    "total": "total",
    "size": "size",
    "time": "time",
    "mark": "marks",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """An SQL condition over the message list's columns, with its parameters. An empty one is always true."""

    sql: str
    parameters: tuple[Parameter, ...]

    @property
    def everything(self) -> bool:
        return not self.sql


def compile_filter(text: str) -> Condition:
    """Compile the filter ``text``. Raises ``FilterError`` when it is invalid."""
    parts: list[str] = []
    parameters: list[Parameter] = []
    for term in read_filter(text):
        condition = _compile_term(term)
        # A NULL column does not match a term, so it matches the excluded term: hence coalesce.
        parts.append(f"NOT coalesce({condition.sql}, 0)" if term.excluded else f"({condition.sql})")
        parameters += condition.parameters
    return Condition(" AND ".join(parts), tuple(parameters))


def _compile_term(term: Term) -> Condition:
    if term.field is None:
        word = f"%{_escape_like(str(term.values[0]))}%"
        return Condition(r"message_id LIKE ? ESCAPE '\' OR partition_key LIKE ? ESCAPE '\'", (word, word))
    column = COLUMNS[term.field]
    if term.operator == "=":
        each = [_compile_equals(term.field, column, value) for value in term.values]
        sql = " OR ".join(condition.sql for condition in each)
        return Condition(sql, tuple(parameter for condition in each for parameter in condition.parameters))
    value = term.values[0]
    if isinstance(value, str):
        # Sequence numbers exceed 64 bits. Among decimals without leading zeros the longer one is larger.
        return Condition(f"(length({column}), {column}) {term.operator} (?, ?)", (len(value), value))
    assert value is not None
    return Condition(f"{column} {term.operator} ?", (value,))


def _compile_equals(field: str, column: str, value: str | float | None) -> Condition:
    if FIELDS[field] == "mark":
        if value is None:
            return Condition("marks = 0", ())
        return Condition("marks & ? != 0", (1 << MARKS.index(str(value)),))
    if value is None:
        return Condition(f"{column} IS NULL", ())
    if not isinstance(value, str):
        return Condition(f"{column} = ?", (value,))
    if FIELDS[field] == "identifier" and not {"*", "?"} & {*value}:
        # IN over the likely spellings uses an index, which LIKE does not.
        spellings = tuple(dict.fromkeys((value, value.lower(), value.upper())))
        return Condition(f"{column} IN ({', '.join('?' * len(spellings))})", spellings)
    return Condition(rf"{column} LIKE ? ESCAPE '\'", (_escape_like(value),))


def _escape_like(pattern: str) -> str:
    escaped = re.sub(r"([\\%_])", r"\\\1", pattern)
    return escaped.replace("*", "%").replace("?", "_")
