"""Checks requests against the constraints of the service model, with AWS's wording of errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

from emulator.kinesis.errors import KinesisError
from emulator.listeners.aws.service_model import Shape, kinesis_model

_MOST_REPORTED = 10
_Shapes: TypeAlias = dict[str, Shape]


def check(request: dict[str, Any], shape: str) -> None:
    """Raise KinesisError ValidationException with the broken constraints of ``shape``, ten at most."""
    broken = describe_broken(request, shape, kinesis_model().shapes)
    if broken:
        raise KinesisError("ValidationException", broken)


def describe_broken(request: dict[str, Any], shape: str, shapes: _Shapes) -> str:
    """The broken constraints of a service's ``shape``, ten at most, as AWS says them; empty if none is."""
    broken = list(islice(_structure(request, shapes[shape], "", shapes), _MOST_REPORTED))
    plural = "s" if len(broken) > 1 else ""
    return f"{len(broken)} validation error{plural} detected: {'; '.join(broken)}" if broken else ""


def _structure(value: dict[str, Any], shape: Shape, path: str, shapes: _Shapes) -> Iterator[str]:
    for name, member in shape.members.items():
        where = f"{path}{name[0].lower()}{name[1:]}"
        if name in value:
            yield from _constraints(value[name], shapes[member], where, shapes)
        elif name in shape.required:
            yield _complaint(None, where, "Member must not be null")


def _constraints(value: Any, shape: Shape, where: str, shapes: _Shapes) -> Iterator[str]:
    yield from _bounds(value, shape, where)
    if shape.values and value not in shape.values:
        yield _complaint(value, where, f"Member must satisfy enum value set: [{', '.join(shape.values)}]")
    pattern = _compiled(shape.pattern) if shape.pattern else None
    if pattern and not pattern.fullmatch(value):
        yield _complaint(value, where, f"Member must satisfy regular expression pattern: {shape.pattern}")
    if shape.kind == "structure":
        yield from _structure(value, shape, f"{where}.", shapes)
    elif shape.kind == "list":
        yield from _list_members(value, shapes[shape.member], where, shapes)
    elif shape.kind == "map":
        yield from _map_entries(value, shape, where, shapes)


def _list_members(value: list[Any], member: Shape, where: str, shapes: _Shapes) -> Iterator[str]:
    """Of texts the whole list is named once, of anything else each member that is wrong."""
    if member.kind != "string":
        for position, item in enumerate(value, start=1):
            yield from _constraints(item, member, f"{where}.{position}.member", shapes)
    elif any(True for item in value for _ in _constraints(item, member, where, shapes)):
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


def _map_entries(value: dict[str, Any], shape: Shape, where: str, shapes: _Shapes) -> Iterator[str]:
    for side, constrained, items in (
        ("keys", shapes[shape.key], value.keys()),
        ("value", shapes[shape.value], value.values()),
    ):
        if constrained.kind != "string":
            for key, item in value.items():
                yield from _constraints(item, constrained, f"{where}.{key}.member", shapes)
            continue
        if constrained.maximum is None:
            continue
        least, most = constrained.minimum or 0, constrained.maximum
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
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern; None for one that only Java's expressions have, which is not checked."""
    with suppress(re.error):
        return re.compile(pattern)
    return None
