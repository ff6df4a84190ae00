"""The syntax tree of a filter."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias

from emulator.filters.record_paths import Path
from emulator.filters.values import Number
from emulator.patterns import Pattern


@dataclass(frozen=True, slots=True)
class Literal:
    """A string, a number, or None for NULL."""

    value: str | Number | None


@dataclass(frozen=True, slots=True)
class Identifier:
    """The value of the record at ``path``."""

    path: Path


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``left`` and ``right`` joined by one of ``+ - * / %``."""

    operator: str
    left: Value
    right: Value


Value: TypeAlias = Literal | Identifier | Arithmetic


@dataclass(frozen=True, slots=True)
class Comparison:
    """``operator`` is one of ``= != < <= > >=``."""

    operator: str
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Between:
    """``low`` and ``high`` included."""

    value: Value
    low: Value
    high: Value


@dataclass(frozen=True, slots=True)
class Membership:
    """``value`` equals one of ``items``."""

    value: Value
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """``pattern`` is found somewhere in ``value``."""

    value: Value
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class IsNull:
    """``value`` is the empty string, an empty array, null or missing."""

    value: Value


@dataclass(frozen=True, slots=True)
class Otherwise:
    """A negated operator such as ``NOT IN``: false for NULL, else the opposite of ``condition``."""

    value: Value
    condition: Condition


@dataclass(frozen=True, slots=True)
class Not:
    """``condition`` does not hold."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class And:
    """All of ``conditions`` hold."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of ``conditions`` holds."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = Comparison | Between | Membership | Match | IsNull | Otherwise | Not | And | Or


def count_conditions(condition: Condition) -> int:
    """The number of comparisons and other elementary conditions."""
    match condition:
        case And(conditions) | Or(conditions):
            return sum(map(count_conditions, conditions))
        case Not(one) | Otherwise(_, one):
            return count_conditions(one)
        case _:
            return 1


def has_identifier(part: Any) -> bool:
    """Whether a part of a filter's tree reads a field."""
    if isinstance(part, tuple):
        return any(map(has_identifier, part))
    if isinstance(part, Identifier) or not is_dataclass(part):
        return isinstance(part, Identifier)
    return any(has_identifier(getattr(part, each.name)) for each in fields(part))
