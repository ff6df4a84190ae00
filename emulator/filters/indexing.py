"""Keys for an index of filters, to find those that may match a record without testing all.

A filter with an equality can match a record only if the record's value at the path of the equality has one of
its keys. So a table of filters by ``(path, key)`` yields the few filters to test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from emulator.filters import syntax as s
from emulator.filters.record_paths import Path
from emulator.filters.values import Number, elements, number_in

Key: TypeAlias = tuple[str, str | Number]


@dataclass(frozen=True, slots=True)
class Equality:
    """Requires that the value at ``path`` equals ``value``, which means that it has one of ``keys``."""

    path: Path
    value: str | Number

    @property
    def keys(self) -> tuple[Key, ...]:
        return literal_keys(self.value)


def literal_keys(value: str | Number | None) -> tuple[Key, ...]:
    """The index keys of a literal: as a text, as a text that says a number, or as a number."""
    if value is None or value == "":
        return ()
    if not isinstance(value, str):
        return (("number", value),)
    number = number_in(value)
    return (("text", value),) if number is None else (("text", value), ("said", number))


def value_keys(value: Any) -> Iterator[Key]:
    """The index keys of literals that equal ``value`` or one of its elements."""
    for one in elements(value):
        if isinstance(one, str):
            yield "text", one
            number = number_in(one)
            if number is not None:
                yield "number", number
        elif isinstance(one, int | float):
            yield "number", one
            yield "said", one


def equalities(condition: s.Condition) -> tuple[Equality, ...]:
    """The equalities of an identifier and a literal that ``condition`` requires."""
    match condition:
        case s.And(conditions):
            return tuple(found for one in conditions for found in equalities(one))
        case s.Comparison("=", s.Identifier(path), s.Literal(value)) if value not in (None, ""):
            return (Equality(path, value),)
        case s.Comparison("=", s.Literal(value), s.Identifier(path)) if value not in (None, ""):
            return (Equality(path, value),)
        case _:
            return ()
