"""Identifiers: paths into a record, and functions that read them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_STEP = re.compile(r"/([^/\[]+)|\[([0-9]+)\]")
# As in the grammar: no array has a billion elements, and Python reads no number of 4301 digits.
_WRITTEN = re.compile(r"(/@?\w[\w.:-]*(\[[0-9]{1,9}\])*)+")


def read_path(text: str) -> Path:
    """Parse an identifier: ``/a/b[0]`` gives ``("a", "b", 0)``. Raises ValueError."""
    if not _WRITTEN.fullmatch(text):
        raise ValueError(
            f"{text!r} is no identifier; one is written like /objectTitle or /objectDate[0]/dateType"
        )
    return steps(text)


def steps(text: str) -> Path:
    """Split a valid identifier into names and array indexes."""
    return tuple(name or int(position) for name, position in _STEP.findall(text))


def reader(path: Path) -> Callable[[Any], Any]:
    """Build a function that reads the value of a record at ``path``; it returns None for nothing.

    A name that is applied to an array is applied to each element, and gives the array of their values.
    """
    # Most filters read a field at the top, which takes one call.
    if len(path) == 1 and isinstance(path[0], str):
        return _field(path[0])

    def read(record: Any) -> Any:
        for step in path:
            record = _at(record, step)
            if record is None:
                return None
        return record

    return read


def _field(name: str) -> Callable[[Any], Any]:
    def read(record: Any) -> Any:
        return record.get(name) if type(record) is dict else _at(record, name)

    return read


def _at(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if not isinstance(value, list):
        return None
    if isinstance(step, int):
        return value[step] if step < len(value) else None
    found = [_at(element, step) for element in value if isinstance(element, dict)]
    return [element for element in found if element is not None]
