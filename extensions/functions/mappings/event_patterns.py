"""Filter criteria: which events a pattern lets through, as EventBridge and Lambda state it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from extensions.functions.engine.errors import BadValueError

INVALID_PATTERN: Final = "Invalid filter pattern definition."
_MISSING: Final = object()


def read_pattern(text: str) -> dict[str, Any]:
    """Raises BadValueError for a text that is no pattern."""
    try:
        pattern = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadValueError(INVALID_PATTERN) from error
    _check(pattern)
    found: dict[str, Any] = pattern
    return found


def matches(pattern: Mapping[str, Any], event: object) -> bool:
    """Whether every field of the pattern has one of the values, or meets one of the comparisons."""
    return all(_field_matches(name, conditions, event) for name, conditions in pattern.items())


def _field_matches(name: str, condition: Any, event: object) -> bool:
    if name == "$or":
        return any(matches(each, event) for each in condition)
    found = event.get(name, _MISSING) if isinstance(event, dict) else _MISSING
    if isinstance(condition, dict):
        return matches(condition, found)
    # An array matches where one of its elements does.
    values = found if isinstance(found, list) else [found]
    return any(_meets(each, value) for each in condition for value in values)


def _meets(condition: Any, value: Any) -> bool:
    if not isinstance(condition, dict):
        return (type(condition) is type(value) and condition == value) or _are_equal_numbers(condition, value)
    ((comparison, operand),) = condition.items()
    return _COMPARISONS[comparison](value, operand)


def _are_equal_numbers(one: Any, other: Any) -> bool:
    return _is_number(one) and _is_number(other) and one == other


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_in_range(value: Any, operand: list[Any]) -> bool:
    bounds = zip(operand[::2], operand[1::2], strict=True)
    return _is_number(value) and all(_ORDERS[sign](value, bound) for sign, bound in bounds)


def _is_anything_but(value: Any, operand: Any) -> bool:
    if value is _MISSING:
        return False
    if isinstance(operand, dict):
        return not _meets(operand, value)
    return value not in (operand if isinstance(operand, list) else [operand])


_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": lambda value, bound: value == bound,
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
}
_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "prefix": lambda value, operand: isinstance(value, str) and value.startswith(operand),
    "suffix": lambda value, operand: isinstance(value, str) and value.endswith(operand),
    "equals-ignore-case": lambda value, operand: isinstance(value, str) and value.lower() == operand.lower(),
    "anything-but": _is_anything_but,
    "numeric": _is_in_range,
    "exists": lambda value, operand: (value is not _MISSING) is operand,
}


def _check(pattern: object) -> None:
    """Raise BadValueError unless every leaf is a list of values and comparisons."""
    if not isinstance(pattern, dict) or not pattern:
        raise BadValueError(INVALID_PATTERN)
    for name, condition in pattern.items():
        if name == "$or":
            if not isinstance(condition, list) or len(condition) < 2:
                raise BadValueError(INVALID_PATTERN)
            for each in condition:
                _check(each)
        elif isinstance(condition, dict):
            _check(condition)
        elif not isinstance(condition, list) or not condition or not all(map(_is_condition, condition)):
            raise BadValueError(INVALID_PATTERN)


def _is_condition(condition: object) -> bool:
    if not isinstance(condition, dict):
        return not isinstance(condition, list)
    if len(condition) != 1:
        return False
    ((comparison, operand),) = condition.items()
    if comparison == "numeric":
        return (
            isinstance(operand, list)
            and len(operand) in (2, 4)
            and all(sign in _ORDERS for sign in operand[::2])
            and all(_is_number(bound) for bound in operand[1::2])
        )
    if comparison == "exists":
        return isinstance(operand, bool)
    if comparison == "anything-but":
        return isinstance(operand, str | list | int | float) or _is_condition(operand)
    return comparison in _COMPARISONS and isinstance(operand, str)
