"""What a headers exchange lets through."""

from __future__ import annotations

from typing import Final

from emulator.amqp.refusals import RefusedError
from emulator.amqp.wire.field_tables import INTEGERS, TYPE_NAMES, Field, Table

_MODES: Final = ("all", "any", "all-with-x", "any-with-x")
_BYTES: Final = frozenset("Sx")


def check_match_arguments(arguments: Table) -> None:
    """Check ``x-match`` of a binding to a headers exchange. Raises RefusedError."""
    mode = arguments.get("x-match")
    if mode is None:
        return
    if mode.tag != "S":
        raise RefusedError(
            406,
            f"Invalid x-match field type {TYPE_NAMES[mode.tag]} (value {describe_value(mode)}); "
            "expected longstr",
        )
    if mode.value.decode("latin-1") not in _MODES:
        expected = "all, any, all-with-x, or any-with-x"
        raise RefusedError(
            406, f'Invalid x-match field value <<"{mode.value.decode("latin-1")}">>; expected {expected}'
        )


def matches_headers(arguments: Table, headers: Table) -> bool:
    """Whether a message's headers match a binding's arguments."""
    mode = arguments["x-match"].value.decode() if "x-match" in arguments else "all"
    conditions = {
        name: field
        for name, field in arguments.items()
        if name != "x-match" and (mode.endswith("-with-x") or not name.startswith("x-"))
    }
    found = (name in headers and _same_header(field, headers[name]) for name, field in conditions.items())
    return all(found) if mode.startswith("all") else any(found)


def _same_header(condition: Field, found: Field) -> bool:
    # An argument without a value asks for the header, whatever that says.
    return condition.tag == "V" or same_value(condition, found)


def same_value(one: Field, other: Field) -> bool:
    """Whether two values are equal to RabbitMQ: integers of any width, and text and bytes, compare."""
    return _kind(one.tag) == _kind(other.tag) and bool(one.value == other.value)


def _kind(tag: str) -> str:
    return "integer" if tag in INTEGERS else "bytes" if tag in _BYTES else tag


def describe_value(field: Field) -> str:
    """A value as RabbitMQ's refusals print it."""
    if field.tag in _BYTES:
        return str(field.value.decode("utf-8", "replace"))
    if field.tag == "t":
        return "true" if field.value else "false"
    return str(field.value)
