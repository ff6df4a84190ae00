"""The filter language of the message list: ``type:Metadata* size>500k -mark:duplicate``.

Terms are separated by spaces and must all hold. ``-`` before a term negates it.
``field:value`` ignores case and takes the wildcards ``*`` and ``?``. Several
values are separated by commas; one of them must match. ``none`` matches
messages without the field. An ``id`` or ``sequence`` without ``*`` matches as
written, in lower case or in upper case. ``size``, ``position``, ``total``,
``number`` and ``time`` also take ``>``, ``>=``, ``<`` and ``<=``. Sizes take
``k`` and ``M``; times are RFC 3339 or seconds since the epoch. A word alone is
searched in the message id and the partition key. Quotes keep spaces and colons
in one value. Of the fields, ``OF_A_RECORD`` are the same everywhere; a contract
declares the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rdss_sandbox.text.timestamps import read_timestamp

Kind: TypeAlias = Literal["text", "identifier", "number", "size", "time", "mark", "decimal"]

MARKS: Final = ("duplicate", "late", "oversize", "retried")
OF_A_RECORD: Final[dict[str, Kind]] = {
    "stream": "text",
    "shard": "text",
    "key": "text",
    "number": "decimal",
    "size": "size",
    "time": "time",
    "mark": "mark",
}
"""The fields that every message has from its place in a stream, whatever its contract."""
MOST_TERMS: Final = 200
"""The most terms and values in one filter. SQLite limits the depth of an expression to 1,000."""

_TERM = re.compile(
    r'(?P<not>-?)(?:(?P<field>[A-Za-z_]+)(?P<op>:|>=|<=|>|<|=))?(?P<value>"[^"]*"|[^\s"]\S*)(?:\s+|$)'
)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kKmM]?)[bB]?")
_UNITS = {"": 1, "k": 1000, "m": 1_000_000}
_LONGEST = 10_000
_WITHOUT_ORDER = frozenset({"text", "identifier", "mark"})
_PATTERNS = frozenset({"text", "identifier", "decimal"})


class FilterError(ValueError):
    """A filter that cannot be parsed; the message names the term and what is allowed there."""


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a filter. ``field`` is None for a word to search.

    ``values`` are numbers for a field that is a number, a size or a time, patterns with ``*`` and ``?`` for
    text, and None for ``none``. With the operator ``=`` one of the values must match. The other operators
    (``>``, ``>=``, ``<``, ``<=``) have one value.
    """

    excluded: bool
    field: str | None
    operator: str
    values: tuple[str | float | None, ...]


def read_filter(text: str, fields: Mapping[str, Kind]) -> tuple[Term, ...]:
    """Parse a filter of these ``fields`` into its terms. Raises ``FilterError``.

    The fields are those of ``OF_A_RECORD`` and those that the contract declares, as ``GET /contract`` lists
    them.
    """
    # SQLite rejects lone surrogates, so no row can hold one.
    rest = text.strip().encode(errors="replace").decode()
    if len(rest) > _LONGEST:
        raise FilterError(f"filter: it has {len(rest)} characters, and may have {_LONGEST}")
    terms: list[Term] = []
    count = 0
    while rest:
        written = _TERM.match(rest)
        if written is None:
            raise FilterError(f"filter: cannot read {rest!r}; is a quote missing?")
        count += max(1, len(_choices(written["value"])))
        if count > MOST_TERMS:
            raise FilterError(f"filter: it has more than {MOST_TERMS} terms and values; ask in several")
        terms.append(_term(written, fields))
        rest = rest[written.end() :]
    return tuple(terms)


def _term(written: re.Match[str], fields: Mapping[str, Kind]) -> Term:
    value, excluded = written["value"], bool(written["not"])
    if written["field"] is None:
        if ":" in value and not value.startswith('"'):
            raise FilterError(f"filter: cannot read {value!r}; put quotes around a word with a colon")
        return Term(excluded, None, "=", (value.strip('"'),))
    field = written["field"].lower()
    if field not in fields:
        raise FilterError(f"filter: no field {field!r}; there are {', '.join(fields)}")
    kind = fields[field]
    if written["op"] in {":", "="}:
        choices = _choices(value)
        if not choices:
            raise FilterError(f"filter: {field}: needs a value")
        return Term(excluded, field, "=", tuple(_choice(field, kind, choice) for choice in choices))
    if kind in _WITHOUT_ORDER:
        raise FilterError(f"filter: {field} has no order; write {field}:{value}")
    if kind == "decimal" and not value.isdigit():
        raise FilterError(f"filter: {value!r} is not a sequence number")
    return Term(
        excluded, field, written["op"], (value if kind == "decimal" else _number(field, kind, value),)
    )


def _choices(value: str) -> list[str]:
    return [value[1:-1]] if value.startswith('"') else [choice for choice in value.split(",") if choice]


def _choice(field: str, kind: Kind, value: str) -> str | float | None:
    if value.lower() == "none":
        return None
    if kind == "mark":
        if value.lower() not in MARKS:
            raise FilterError(f"filter: no mark {value!r}; there are {', '.join(MARKS)}")
        return value.lower()
    return value if kind in _PATTERNS else _number(field, kind, value)


def _number(field: str, kind: Kind, value: str) -> float:
    if kind == "time":
        return _time(value)
    match = _SIZE.fullmatch(value)
    if match is None or (kind == "number" and not value.isdigit()):
        example = "500k or 1M" if kind == "size" else "2"
        raise FilterError(f"filter: {field} must be a number, such as {example}, not {value!r}")
    return float(match[1]) * _UNITS[match[2].lower()]


def _time(value: str) -> float:
    try:
        return read_timestamp(value.strip('"'))
    except ValueError as error:
        raise FilterError(f"filter: {error}") from error
