"""Comparison and arithmetic of the values of records.

- Two strings compare as strings, two numbers as numbers.
- A string compared with a number is read as a number; a string without a number is greater than any number.
- The empty string, null, an empty array and a missing value are NULL; a comparison with NULL is false.
- A boolean is the number 1 or 0. An object is not NULL, and every comparison with it is false.
- A comparison with an array holds if it holds for one of its elements. Arithmetic takes the first element.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

Number: TypeAlias = int | float
Relation: TypeAlias = Callable[[Any, Any], bool]

_NUMBERS = frozenset({int, float, bool})
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def number_in(text: str) -> Number | None:
    """Parse the number in ``text``; None when it is not a number."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if match[2] is match[3] is None and not text.startswith((".", "+.", "-.")):
        try:
            return int(text)
        except ValueError:  # longer than Python converts exactly
            return float(text)
    return float(text)


def is_null(value: Any) -> bool:
    return value is None or value in ("", [])


def elements(value: Any) -> Iterator[Any]:
    """Yield the value, or the elements of an array and of the arrays in it."""
    # Not by calls within each other: arrays may be nested very deep.
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting.extend(reversed(one))
        else:
            yield one


def extend_relation(holds: Relation) -> Relation:
    """Extend a relation between two strings or two numbers to any two values."""

    def compare(left: Any, right: Any) -> bool:
        one, other = type(left), type(right)
        if one is str and other is str:
            return bool(left and right and holds(left, right))
        if one in _NUMBERS and other in _NUMBERS:
            return holds(left, right)
        if one is list or other is list:
            return any(compare(a, b) for a in elements(left) for b in elements(right))
        if one is str and other in _NUMBERS:
            return bool(left) and _beside_number(holds, left, right)
        if one in _NUMBERS and other is str:
            return bool(right) and _beside_number(lambda a, b: holds(b, a), right, left)
        return False

    return compare


def _beside_number(holds: Relation, text: str, number: Number) -> bool:
    match = number_in(text)
    return holds(1, 0) if match is None else holds(match, number)


def text_of(value: Any) -> str:
    """A string or number as text for a regular expression; "" for anything else."""
    if isinstance(value, str):
        return value
    if type(value) not in _NUMBERS:
        return ""
    try:
        return str(int(value) if isinstance(value, bool) else value)
    except ValueError:  # longer than Python writes out
        return str(math.inf if value > 0 else -math.inf)


def extend_operation(operation: Callable[[Number, Number], Number]) -> Callable[[Any, Any], Number | None]:
    """Extend an operation to any two values; it gives NULL if an operand or the result is not a number."""

    def calculate(left: Any, right: Any) -> Number | None:
        one, other = _number(left), _number(right)
        if one is None or other is None:
            return None
        try:
            result = operation(one, other)
        # By zero, or with a result beyond all floats.
        except ArithmeticError:
            return None
        return None if result != result else result  # noqa: PLR0124 -- only NaN differs from itself

    return calculate


def remainder(dividend: Number, divisor: Number) -> Number:
    """The remainder of a division, with the sign of the dividend."""
    # Python's own has the sign of the divisor.
    if isinstance(dividend, int) and isinstance(divisor, int):
        left = abs(dividend) % abs(divisor)
        return -left if dividend < 0 else left
    if not divisor or math.isinf(dividend):
        raise ZeroDivisionError
    return math.fmod(dividend, divisor)


def _number(value: Any) -> Number | None:
    first: Any = next(elements(value), None)
    if type(first) in _NUMBERS:
        number: Number = first
        return number
    return number_in(first) if isinstance(first, str) else None
