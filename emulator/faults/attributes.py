"""Parses a fault's attributes from a request, as its type declares them."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

from emulator.faults.fault import Attribute, FaultRefusedError, FaultType
from rdss_sandbox.text.durations import seconds


def read_attributes(type_: FaultType, written: Mapping[str, Any]) -> dict[str, Any]:
    """Parse every attribute of the type, with defaults for those not given.

    Raises FaultRefusedError, which names the wrong attribute.
    """
    declared = {attribute.name: attribute for attribute in type_.attributes}
    for name in written:
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise FaultRefusedError(f"{type_.name} has no attribute {name!r}; it has {known}")
    return {
        name: _read_attribute(type_.name, attribute, written[name]) if name in written else attribute.default
        for name, attribute in declared.items()
    }


def _read_attribute(type_name: str, attribute: Attribute, value: Any) -> Any:
    try:
        return _READERS[attribute.type](attribute, value)
    # A whole number of very many digits is no float.
    except (TypeError, ValueError, OverflowError) as error:
        shown = reprlib.repr(value)
        raise FaultRefusedError(f"{type_name}: attribute {attribute.name} is {shown}: {error}") from error


def _read_number(attribute: Attribute, value: Any) -> float:
    # To Python, true is the number 1.
    if isinstance(value, bool):
        raise TypeError("give a number")
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError("give a number") from error
    return _check_bounds(attribute, number)


def _read_integer(attribute: Attribute, value: Any) -> int:
    number = _read_number(attribute, value)
    if not number.is_integer():
        raise ValueError("give a whole number")
    return int(number)


def _read_duration(attribute: Attribute, value: Any) -> float:
    return _check_bounds(attribute, seconds(value))


def _check_bounds(attribute: Attribute, number: float) -> float:
    if not attribute.least <= number <= attribute.most:
        raise ValueError(f"give a number from {attribute.bounds}")
    return number


def _read_flag(_attribute: Attribute, value: Any) -> bool:
    word = str(value).lower()
    if word not in {"true", "false"}:
        raise ValueError("give true or false")
    return word == "true"


def _read_choice(attribute: Attribute, value: Any) -> str:
    if value not in attribute.choices:
        raise ValueError(f"give one of {', '.join(attribute.choices)}")
    return str(value)


def _read_text(attribute: Attribute, value: Any) -> str:
    if isinstance(value, (dict, list)) or value is None:
        raise TypeError("give a text")
    text = str(value)
    if len(text) > attribute.longest:
        raise ValueError(f"it has {len(text)} characters; give {attribute.bounds}")
    return text


_READERS = {
    "number": _read_number,
    "integer": _read_integer,
    "duration": _read_duration,
    "flag": _read_flag,
    "choice": _read_choice,
    "text": _read_text,
}
