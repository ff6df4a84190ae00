"""Checks requests against the constraints of the service model, with AWS's wording of errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from emulator.kinesis.errors import KinesisError
from emulator.listeners.aws.service_model import Shape, kinesis_model

_MOST_REPORTED = 10


def check(request: dict[str, Any], shape: str) -> None:
    """Raise KinesisError ValidationException with the broken constraints of ``shape``, ten at most."""
    broken: list[str] = []
    for complaint in _structure(request, kinesis_model().shapes[shape], ""):
        broken.append(complaint)
        if len(broken) == _MOST_REPORTED:
            break
    if broken:
        plural = "s" if len(broken) > 1 else ""
        message = f"{len(broken)} validation error{plural} detected: {'; '.join(broken)}"
        raise KinesisError("ValidationException", message)


def _structure(value: dict[str, Any], shape: Shape, path: str) -> Iterator[str]:
    for name, member in shape.members.items():
        where = f"{path}{name[0].lower()}{name[1:]}"
        if name in value:
            yield from _constraints(value[name], kinesis_model().shapes[member], where)
        elif name in shape.required:
            yield _complaint(None, where, "Member must not be null")


def _constraints(value: Any, shape: Shape, where: str) -> Iterator[str]:
    yield from _bounds(value, shape, where)
    if shape.values and value not in shape.values:
        yield _complaint(value, where, f"Member must satisfy enum value set: [{', '.join(shape.values)}]")
    if shape.pattern and not _compiled(shape.pattern).fullmatch(value):
        yield _complaint(value, where, f"Member must satisfy regular expression pattern: {shape.pattern}")
    if shape.kind == "structure":
        yield from _structure(value, shape, f"{where}.")
    elif shape.kind == "list":
        yield from _list_members(value, kinesis_model().shapes[shape.member], where)
    elif shape.kind == "map":
        yield from _map_entries(value, shape, where)


def _list_members(value: list[Any], member: Shape, where: str) -> Iterator[str]:
    """Of texts the whole list is named once, of anything else each member that is wrong."""
    if member.kind != "string":
        for position, item in enumerate(value, start=1):
            yield from _constraints(item, member, f"{where}.{position}.member")
    elif any(True for item in value for _ in _constraints(item, member, where)):
        yield _complaint(value, where, f"Member must satisfy constraint: [{', '.join(_rules(member))}]")


def _rules(shape: Shape) -> Iterator[str]:
    """What a text must be, in AWS's words and order."""
    if shape.maximum is not None:
        yield f"Member must have length less than or equal to {shape.maximum}"
    if shape.minimum is not None:
        yield f"Member must have length greater than or equal to {shape.minimum}"
    if shape.values:
        yield f"Member must satisfy enum value set: [{', '.join(shape.values)}]"
    if shape.pattern:
        yield f"Member must satisfy regular expression pattern: {shape.pattern}"


def _map_entries(value: dict[str, Any], shape: Shape, where: str) -> Iterator[str]:
    shapes = kinesis_model().shapes
    for side, constrained, items in (
        ("keys", shapes[shape.key], value.keys()),
        ("value", shapes[shape.value], value.values()),
    ):
        least, most = constrained.minimum or 0, constrained.maximum or 0
        if any(not least <= len(item) <= most for item in items):
            yield _complaint(
                value,
                where,
                f"Map {side} must satisfy constraint: [Member must have length less than or equal to {most}, "
                f"Member must have length greater than or equal to {least}]",
            )


def _bounds(value: Any, shape: Shape, where: str) -> Iterator[str]:
    if shape.minimum is None and shape.maximum is None:
        return
    number = isinstance(value, int | float)
    measure, word = (value, "value") if number else (len(value), "length")
    if shape.maximum is not None and measure > shape.maximum:
        yield _complaint(value, where, f"Member must have {word} less than or equal to {shape.maximum}")
    if shape.minimum is not None and measure < shape.minimum:
        yield _complaint(value, where, f"Member must have {word} greater than or equal to {shape.minimum}")


def _complaint(value: Any, where: str, constraint: str) -> str:
    shown = "null" if value is None else f"'{_shown(value)}'"
    return f"Value {shown} at '{where}' failed to satisfy constraint: {constraint}"


def _shown(value: Any) -> str:
    match value:
        case bytes():
            return f"java.nio.HeapByteBuffer[pos=0 lim={len(value)} cap={len(value)}]"
        case list():
            most = None if all(isinstance(item, str) for item in value) else _MOST_REPORTED
            return f"[{', '.join(_shown(item) for item in value[:most])}]"
        case dict():
            return f"{{{', '.join(f'{key}={_shown(item)}' for key, item in value.items())}}}"
        case bool():
            return str(value).lower()
        case _:
            return str(value)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
