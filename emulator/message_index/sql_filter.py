"""The filter language of the message list: ``type:Metadata* code:GENERR* size>500k -mark:duplicate``.

Terms are separated by spaces and must all hold; ``-`` before a term turns it
round. ``field:value`` compares without regard to case and knows ``*`` and
``?``; several values are separated by commas; ``none`` means that the message
has no such field. An ``id`` or ``sequence`` without ``*`` is found as it is
written, in lower or in upper case. ``size``, ``position``, ``total``, ``number`` and ``time``
also take ``>``, ``>=``, ``<`` and ``<=``; sizes understand ``k`` and ``M``,
times are RFC 3339 or seconds since the epoch. A word alone is looked for in
the messageId and the partition key. Quotes keep spaces and colons together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

MARKS = ("duplicate", "late", "oversize", "retried")

Kind: TypeAlias = Literal["text", "identifier", "number", "size", "time", "mark", "decimal"]
Parameter: TypeAlias = str | int | float

FIELDS: dict[str, tuple[str, Kind]] = {
    "type": ("message_type", "text"),
    "class": ("message_class", "text"),
    "code": ("code", "text"),
    "stream": ("stream", "text"),
    "shard": ("shard", "text"),
    "key": ("partition_key", "text"),
    "id": ("message_id", "identifier"),
    "sequence": ("sequence", "identifier"),
    "tenant": ("tenant", "text"),
    "version": ("version", "text"),
    "number": ("sequence_number", "decimal"),
    "position": ("position", "number"),
    "total": ("total", "number"),
    "size": ("size", "size"),
    "time": ("time", "time"),
    "mark": ("marks", "mark"),
}
_TERM = re.compile(
    r'(?P<not>-?)(?:(?P<field>[A-Za-z_]+)(?P<op>:|>=|<=|>|<|=))?(?P<value>"[^"]*"|[^\s"]\S*)(?:\s+|$)'
)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kKmM]?)[bB]?")
MOST_TERMS = 200
"""Terms of the largest filter, and values in them: SQLite takes no deeper expression than of 1,000."""
_LONGEST = 10_000
_UNITS = {"": 1, "k": 1000, "m": 1_000_000}


class FilterError(ValueError):
    """A filter that cannot be read: says which term and what would do."""


@dataclass(frozen=True, slots=True)
class Condition:
    """An SQL condition over the message list's columns, with its parameters; always true when empty."""

    sql: str
    parameters: tuple[Parameter, ...]

    @property
    def everything(self) -> bool:
        return not self.sql


def compile_filter(text: str) -> Condition:
    """The condition that ``text`` means. FilterError when it cannot be read."""
    parts: list[str] = []
    parameters: list[Parameter] = []
    # Halves of surrogate pairs are in no row: SQLite does not take them.
    rest = text.strip().encode(errors="replace").decode()
    if len(rest) > _LONGEST:
        raise FilterError(f"filter: it has {len(rest)} characters, and may have {_LONGEST}")
    terms = 0
    while rest:
        term = _TERM.match(rest)
        if term is None:
            raise FilterError(f"filter: cannot read {rest!r}; is a quote missing?")
        terms += max(1, len(_choices(term["value"])))
        if terms > MOST_TERMS:
            raise FilterError(f"filter: it has more than {MOST_TERMS} terms and values; ask in several")
        condition = _condition(term)
        # coalesce: what is NULL is no match, and so is a match for the term turned round.
        parts.append(f"NOT coalesce({condition.sql}, 0)" if term["not"] else f"({condition.sql})")
        parameters += condition.parameters
        rest = rest[term.end() :]
    return Condition(" AND ".join(parts), tuple(parameters))


def _condition(term: re.Match[str]) -> Condition:
    value = term["value"]
    if term["field"] is None:
        if ":" in value and not value.startswith('"'):
            raise FilterError(f"filter: cannot read {value!r}; put quotes around a word with a colon")
        word = f"%{_like(value.strip(chr(34)))}%"
        return Condition(r"message_id LIKE ? ESCAPE '\' OR partition_key LIKE ? ESCAPE '\'", (word, word))
    field = term["field"].lower()
    if field not in FIELDS:
        raise FilterError(f"filter: no field {field!r}; there are {', '.join(FIELDS)}")
    column, kind = FIELDS[field]
    if term["op"] in {":", "="}:
        return _equals(field, column, kind, value)
    if kind in {"text", "identifier", "mark"}:
        raise FilterError(f"filter: {field} has no order; write {field}:{value}")
    if kind == "decimal":
        return _decimal_order(column, term["op"], value)
    return Condition(f"{column} {term['op']} ?", (_number(field, kind, value),))


def _equals(field: str, column: str, kind: Kind, value: str) -> Condition:
    choices = _choices(value)
    if not choices:
        raise FilterError(f"filter: {field}: needs a value")
    each = [_choice(field, column, kind, choice) for choice in choices]
    sql = " OR ".join(condition.sql for condition in each)
    return Condition(sql, tuple(parameter for condition in each for parameter in condition.parameters))


def _choices(value: str) -> list[str]:
    return [value[1:-1]] if value.startswith('"') else [choice for choice in value.split(",") if choice]


def _choice(field: str, column: str, kind: Kind, value: str) -> Condition:
    if kind == "mark":
        return _mark(value)
    if value.lower() == "none":
        return Condition(f"{column} IS NULL", ())
    if kind == "identifier" and not {"*", "?"} & {*value}:
        return _identified(column, value)
    if kind not in {"text", "identifier", "decimal"}:
        return Condition(f"{column} = ?", (_number(field, kind, value),))
    return Condition(rf"{column} LIKE ? ESCAPE '\'", (_like(value),))


def _identified(column: str, value: str) -> Condition:
    """One identifier, as it is written or in one case: an index finds it, as it does not with LIKE."""
    spellings = tuple(dict.fromkeys((value, value.lower(), value.upper())))
    return Condition(f"{column} IN ({', '.join('?' * len(spellings))})", spellings)


def _mark(value: str) -> Condition:
    if value.lower() == "none":
        return Condition("marks = 0", ())
    if value.lower() not in MARKS:
        raise FilterError(f"filter: no mark {value!r}; there are {', '.join(MARKS)}")
    return Condition("marks & ? != 0", (1 << MARKS.index(value.lower()),))


def _decimal_order(column: str, op: str, value: str) -> Condition:
    if not value.isdigit():
        raise FilterError(f"filter: {value!r} is not a sequence number")
    # Decimals of any length without leading zeros: the longer is the larger.
    return Condition(f"(length({column}), {column}) {op} (?, ?)", (len(value), value))


def _number(field: str, kind: Kind, value: str) -> int | float:
    if kind == "time":
        return _time(value)
    match = _SIZE.fullmatch(value)
    if match is None or (kind == "number" and not value.isdigit()):
        example = "500k or 1M" if kind == "size" else "2"
        raise FilterError(f"filter: {field} must be a number, such as {example}, not {value!r}")
    return float(match[1]) * _UNITS[match[2].lower()]


def _time(value: str) -> float:
    text = value.strip('"')
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise FilterError(
            f"filter: {text!r} is not a time; write 2026-03-01T12:00:00Z or seconds since the epoch"
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _like(pattern: str) -> str:
    escaped = re.sub(r"([\\%_])", r"\\\1", pattern)
    return escaped.replace("*", "%").replace("?", "_")
