"""Finding the filters that may hold for a record without trying them all.

A filter with equalities can hold only for a record that has, at the path of
each, a value with one of its keys: so a table of filters by ``(path, key)``
answers with the few that are left to try.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from emulator.topics.engine.filters import syntax as s
from emulator.topics.engine.filters.paths import Path, reader
from emulator.topics.engine.filters.values import Number, elements, number_in

Key: TypeAlias = tuple[str, str | Number]


@dataclass(frozen=True, slots=True)
class Equality:
    """The value at ``path`` must equal ``value``; it does if and only if it has one of ``keys``."""

    path: Path
    value: str | Number

    @property
    def keys(self) -> tuple[Key, ...]:
        return literal_keys(self.value)


def index_keys(path: Path, record: Any) -> Iterator[Key]:
    """The keys of what ``record`` has at ``path``."""
    return value_keys(reader(path)(record))


def literal_keys(value: str | Number | None) -> tuple[Key, ...]:
    """What a literal is filed under: as a string, as a string that says a number, as a number."""
    if value is None or value == "":
        return ()
    if not isinstance(value, str):
        return (("number", value),)
    said = number_in(value)
    return (("text", value),) if said is None else (("text", value), ("said", said))


def value_keys(value: Any) -> Iterator[Key]:
    """What literals equal to ``value``, or to one of its elements, are filed under."""
    for one in elements(value):
        if isinstance(one, str):
            yield "text", one
            said = number_in(one)
            if said is not None:
                yield "number", said
        elif isinstance(one, int | float):
            yield "number", one
            yield "said", one


def equalities(condition: s.Condition) -> tuple[Equality, ...]:
    """The equalities of an identifier and a literal without which ``condition`` cannot hold."""
    match condition:
        case s.And(conditions):
            return tuple(found for one in conditions for found in equalities(one))
        case s.Comparison("=", s.Identifier(path), s.Literal(value)) if value not in (None, ""):
            return (Equality(path, value),)
        case s.Comparison("=", s.Literal(value), s.Identifier(path)) if value not in (None, ""):
            return (Equality(path, value),)
        case _:
            return ()
