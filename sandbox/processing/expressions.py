"""What the integration file says of a message: templates and conditions, over one record of it.

Both are the house's own: templates as in a mapping of the Channel Adaptor, ``$.body.customer``, and
conditions as in a filter of topics, ``/body/total > 100``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias
from uuid import UUID

import msgspec

from emulator.topics.engine.filters import compile_filter
from emulator.topics.engine.filters.parsing import parse
from emulator.topics.engine.filters.syntax import Identifier
from sandbox.adaptor.template import NOTHING, Scope, TemplateError, fill
from sandbox.processing.errors import ValidationError

Record: TypeAlias = dict[str, Any]
"""``body``: the message as JSON, or as text where it is none. ``message``: what is known of it by name."""
Test: TypeAlias = Callable[[Record], bool]
Roots: TypeAlias = Mapping[str, frozenset[str] | None]
"""The names that a record has, and those below each; None for one that may have anything."""

MESSAGE: Final = (
    "number",
    "service",
    "operation",
    "source",
    "correlation",
    "process",
    "object_id",
    "entity_type",
)
"""What ``$.message`` has."""
_NAMESPACE: Final = UUID("8f6a3a0e-4f5b-5a7e-9f57-0f6f1f0a5c33")
_OPERATIONS: Final = {
    "$first": {"$first"},
    "$each": {"$each", "$make"},
    "$when": {"$when", "$make"},
    "$term": {"$term", "$of", "$else"},
    "$uuid": {"$uuid"},
    "$time": {"$time"},
    "$text": {"$text"},
    "$list": {"$list"},
}
_LISTS: Final = {"$first", "$uuid", "$text", "$list"}
_PATHS: Final = {"$each", "$when", "$time"}


class BadExpressionError(ValueError):
    """A template or condition that cannot be used: what is wrong with it, and what would do."""


def readable(data: bytes) -> Any:
    """JSON as its value, anything else as text; so is a number that would not be written the same again."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data.decode(errors="replace")
    if isinstance(value, (int, float)) and msgspec.json.encode(value) != data.strip():
        return data.decode()
    return value


def filled(template: Any, record: Record, *, element: Any = NOTHING) -> Any:
    """What a template makes of a record, None for nothing; ``element`` is what ``$`` is in a list.

    Raises ValidationError, for no other attempt would change that.
    """
    here = record if element is NOTHING else element
    try:
        value = fill(template, Scope(here, record, _NAMESPACE))
    except TemplateError as error:
        raise ValidationError(str(error)) from error
    return None if value is NOTHING else value


def text(template: Any, record: Record, *, element: Any = NOTHING) -> str | None:
    """The text that a template makes; what is no text is written as JSON. Raises as ``filled``."""
    value = filled(template, record, element=element)
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()


def needed(template: Any, record: Record, what: str) -> str:
    """As ``text``. Raises ValidationError when there is nothing too."""
    found = text(template, record)
    if found is None:
        raise ValidationError(f"{what} is {template!r}, and the message has nothing there")
    return found


def condition(written: str | None) -> Test:
    """The test of a record that a filter is; None for one that always holds."""
    return (lambda _: True) if written is None else compile_filter(written).holds


def check_condition(written: str, roots: Roots) -> None:
    """Raise BadExpressionError for a condition that cannot be read, or asks for what no record has."""
    try:
        paths = list(_identifiers(parse(written)))
    except ValueError as error:
        raise BadExpressionError(str(error)) from error
    for path in paths:
        names = [step for step in path if isinstance(step, str)]
        _check_names("/", "/", names, roots, written)


def check_template(template: Any, roots: Roots, *, within_list: bool = False) -> None:
    """Raise BadExpressionError for a template that could not be filled.

    ``within_list``: ``$`` is an element, which may have anything.
    """
    if isinstance(template, str) and template.startswith("$"):
        _check_path(template, roots, within_list=within_list)
    elif isinstance(template, list):
        for each in template:
            check_template(each, roots, within_list=within_list)
    elif isinstance(template, dict):
        if any(key.startswith("$") for key in template):
            _check_operation(template, roots, within_list=within_list)
        else:
            check_template(list(template.values()), roots, within_list=within_list)


def _check_path(path: str, roots: Roots, *, within_list: bool) -> None:
    first, *steps = path.split(".")
    if first not in {"$", "$$"} or not all(steps):
        raise BadExpressionError(f"{path!r} is no path; one is written like $.body.customer")
    if first == "$$" or not within_list:
        _check_names(f"{first}.", ".", steps, roots, path)


def _check_names(begin: str, between: str, names: list[str], roots: Roots, written: str) -> None:
    """The first name is one of the record's, the second one of those below it."""
    there: frozenset[str] | None = frozenset(roots)
    for at, name in enumerate(names[:2]):
        if there is None:
            return
        if name not in there:
            asked = begin + between.join(names[: at + 1])
            known = [begin + between.join([*names[:at], each]) for each in sorted(there)]
            raise BadExpressionError(
                f"{written!r} asks for {asked}; there is {', '.join(known) or 'nothing below it'}"
            )
        there = roots[names[0]]


def _check_operation(template: dict[str, Any], roots: Roots, *, within_list: bool) -> None:
    name = next((key for key in _OPERATIONS if key in template), None)
    if name is None:
        found = next(key for key in template if key.startswith("$"))
        raise BadExpressionError(f"there is no {found} in templates; there are {', '.join(_OPERATIONS)}")
    known = _OPERATIONS[name]
    needs = known - {"$else"}
    if not needs <= template.keys() <= known:
        raise BadExpressionError(
            f"{name} stands with {', '.join(sorted(known - {name})) or 'nothing else'}, "
            f"and here with {', '.join(sorted(template.keys() - {name})) or 'nothing'}"
        )
    value = template[name]
    if name in _LISTS and not (isinstance(value, list) and value):
        raise BadExpressionError(f"{name} is {value!r}; give a list of templates")
    if name in _PATHS and not (isinstance(value, str) and value.startswith("$")):
        raise BadExpressionError(f"{name} is {value!r}; give a path, such as $.body.customer")
    if name == "$term" and not (isinstance(template["$of"], dict) and template["$of"]):
        raise BadExpressionError(f"$of is {template['$of']!r}; give a table of terms")
    check_template(value, roots, within_list=within_list)
    if "$make" in template:
        check_template(template["$make"], roots, within_list=within_list or name == "$each")
    if "$else" in template:
        check_template(template["$else"], roots, within_list=within_list)


def _identifiers(tree: Any) -> Iterator[tuple[str | int, ...]]:
    if isinstance(tree, Identifier):
        yield tree.path
    elif isinstance(tree, tuple):
        for each in tree:
            yield from _identifiers(each)
    elif dataclasses.is_dataclass(tree):
        for field in dataclasses.fields(tree):
            yield from _identifiers(getattr(tree, field.name))
