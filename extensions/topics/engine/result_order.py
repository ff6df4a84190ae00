"""The order of a query's result: ``/field [ASC|DESC] [TEXT]``, comma-separated.

NULL comes before numbers, and numbers before strings. A string with a number sorts as that number, unless
``TEXT`` is given. Equal records keep the order in which they came to the topic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from emulator.filters import read_path, reader
from emulator.filters.values import elements, is_null, number_in, text_of
from extensions.topics.engine.command_headers import split_list
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.state_of_world import WorldRecord


class SortTerm(NamedTuple):
    """One sort field."""

    read: Callable[[Any], Any]
    descending: bool
    text: bool


def read_order(orderby: str) -> list[SortTerm]:
    """Read the terms of ``orderby``, the most important first. Raises CommandRefusedError."""
    return [_parse_term(one) for one in split_list(orderby)]


def sort_records(records: list[WorldRecord], terms: list[SortTerm]) -> list[WorldRecord]:
    # The least important first, for a sort leaves equals as they are.
    for term in reversed(terms):
        records = sorted(records, key=lambda record: _rank(term, record.data), reverse=term.descending)
    return records


def _parse_term(text: str) -> SortTerm:
    field, *words = text.split()
    words = [word.upper() for word in words]
    if words not in ([], ["ASC"], ["DESC"], ["TEXT"], ["ASC", "TEXT"], ["DESC", "TEXT"]):
        raise CommandRefusedError("bad order", f"{text!r} is not written as /field [ASC|DESC] [TEXT]")
    try:
        path = read_path(field)
    except ValueError as error:
        raise CommandRefusedError("bad order", str(error)) from None
    return SortTerm(reader(path), "DESC" in words, "TEXT" in words)


def _rank(term: SortTerm, record: Any) -> tuple[int, Any]:
    value = next(elements(term.read(record)), None)
    if is_null(value) or isinstance(value, dict):
        return 0, 0
    if term.text:
        return 2, text_of(value)
    number = number_in(value) if isinstance(value, str) else value
    return (2, value) if number is None else (1, number)
