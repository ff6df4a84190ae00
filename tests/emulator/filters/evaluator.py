"""A second reading of the filter language: slow, plain, and written from its description alone."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

NULL = (None, "", [])


def holds(tree: tuple[Any, ...], record: Any) -> bool:
    """Whether the condition, as nested tuples of what it says, holds for ``record``."""
    kind, *parts = tree
    if kind == "and":
        return all(holds(part, record) for part in parts)
    if kind == "or":
        return any(holds(part, record) for part in parts)
    if kind == "not":
        return not holds(parts[0], record)
    return said_of(kind, look(parts[0], record), parts, record)


def said_of(kind: str, value: Any, parts: list[Any], record: Any) -> bool:
    if kind == "null":
        return value in NULL
    if kind == "between":
        low, high = look(parts[1], record), look(parts[2], record)
        return any(some(">=", one, low) and some("<=", one, high) for one in each(value))
    if kind == "in":
        return any(some("=", value, look(item, record)) for item in parts[1:])
    if kind == "like":
        return any(re.search(parts[1], written(one)) for one in each(value) if written(one))
    return some(kind, value, look(parts[1], record))


def look(value: Any, record: Any) -> Any:
    """A value's own value: a literal's itself, a path's what is there."""
    kind, said = value
    if kind == "literal":
        return said
    for step in said:
        if isinstance(record, dict):
            record = record.get(step)
        elif isinstance(record, list) and isinstance(step, int):
            record = record[step] if step < len(record) else None
        elif isinstance(record, list):
            found = [one.get(step) if isinstance(one, dict) else None for one in flat_objects(record)]
            record = [one for one in found if one is not None]
        else:
            return None
    return record


def flat_objects(values: list[Any]) -> list[Any]:
    return [one for one in values if isinstance(one, dict)]


def each(value: Any) -> list[Any]:
    if not isinstance(value, list):
        return [value]
    return [deeper for one in value for deeper in each(one)]


def some(relation: str, left: Any, right: Any) -> bool:
    return any(between_two(relation, a, b) for a in each(left) for b in each(right))


def between_two(relation: str, left: Any, right: Any) -> bool:
    if left in NULL or right in NULL or isinstance(left, dict) or isinstance(right, dict):
        return False
    order = compared_as(left, right)
    return {
        "=": order == 0,
        "!=": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[relation]


def compared_as(left: Any, right: Any) -> int:
    """-1, 0 or 1: two strings as strings, else as numbers, a string that is none beyond every number."""
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    one, other = rank(left), rank(right)
    return (one > other) - (one < other)


def rank(value: Any) -> tuple[int, Fraction]:
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", value, re.ASCII):
            return (1, Fraction(0))
        whole = re.fullmatch(r"[+-]?\d+", value, re.ASCII)
        return (0, Fraction(int(value) if whole else float(value)))
    return (0, Fraction(value))


def written(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else ""
