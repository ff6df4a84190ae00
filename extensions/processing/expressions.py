"""Templates and conditions of the integration file, evaluated on the record of a message.

Templates are those of a Channel Adaptor mapping, such as ``$.body.customer``. Conditions are those of a topic
filter, such as ``/body/total > 100``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias
from uuid import UUID

import msgspec

from extensions.processing.processing_errors import ValidationError
from sandbox.template import NOTHING, TemplateError, TemplateScope, fill

Record: TypeAlias = dict[str, Any]
"""``body`` is the message as JSON, or else as text. ``message`` has its fields by name."""
Test: TypeAlias = Callable[[Record], bool]
Roots: TypeAlias = Mapping[str, frozenset[str] | None]
"""The names that a record has, with the names below each; None allows any name below."""

MESSAGE_FIELDS: Final = (
    "number",
    "service",
    "operation",
    "source",
    "correlation",
    "process",
    "object_id",
    "entity_type",
)
"""The fields of ``$.message``."""
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
    """A template or condition is not valid; the text says what is wrong and what to write."""


def read_json_or_text(data: bytes) -> Any:
    """Decode JSON; return other data as text.

    A number that would be encoded differently, such as 1.0e3, stays text too.
    """
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data.decode(errors="replace")
    if isinstance(value, (int, float)) and msgspec.json.encode(value) != data.strip():
        return data.decode()
    return value


def fill_template(template: Any, record: Record, *, element: Any = NOTHING) -> Any:
    """Fill a template from a record; None when the template yields nothing.

    ``element`` is the list element that ``$`` stands for. Raises ValidationError, since another attempt would
    fail in the same way.
    """
    here = record if element is NOTHING else element
    try:
        value = fill(template, TemplateScope(here, record, _NAMESPACE))
    except TemplateError as error:
        raise ValidationError(str(error)) from error
    return None if value is NOTHING else value


def fill_text(template: Any, record: Record, *, element: Any = NOTHING) -> str | None:
    """Fill a template and return a text; other values are encoded as JSON. Raises ValidationError."""
    value = fill_template(template, record, element=element)
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()


def fill_required(template: Any, record: Record, what: str) -> str:
    """Fill a template and return a text. Raises ValidationError, also when the template yields nothing."""
    found = fill_text(template, record)
    if found is None:
        raise ValidationError(f"{what} is {template!r}, and the message has nothing there")
    return found


def compile_condition(written: str | None) -> Test:
    """Compile a filter to a test of a record; None gives a test that always holds."""
    # Only who has conditions waits for the imports of the filter language.
    from emulator.filters import compile_filter

    return (lambda _: True) if written is None else compile_filter(written).holds


def check_condition(written: str, roots: Roots) -> None:
    """Raise BadExpressionError for a condition with bad syntax, or with a name that no record has."""
    from emulator.filters.filter_parsing import parse

    try:
        paths = list(_identifiers(parse(written)))
    except ValueError as error:
        raise BadExpressionError(str(error)) from error
    for path in paths:
        names = [step for step in path if isinstance(step, str)]
        _check_names("/", "/", names, roots, written)


def check_template(template: Any, roots: Roots, *, within_list: bool = False) -> None:
    """Raise BadExpressionError for a template that no record can fill.

    ``within_list`` means that ``$`` is a list element, which may have any name.
    """
    if isinstance(template, str) and template.startswith("$"):
        first, *steps = template.split(".")
        if first not in {"$", "$$"} or not all(steps):
            raise BadExpressionError(f"{template!r} is no path; one is written like $.body.customer")
        if first == "$$" or not within_list:
            _check_names(f"{first}.", ".", steps, roots, template)
    elif isinstance(template, list):
        for each in template:
            check_template(each, roots, within_list=within_list)
    elif isinstance(template, dict):
        if any(key.startswith("$") for key in template):
            _check_operation(template, roots, within_list=within_list)
        else:
            check_template(list(template.values()), roots, within_list=within_list)


def _check_names(begin: str, between: str, names: list[str], roots: Roots, written: str) -> None:
    """Check the first two names of a path; the roots say nothing about deeper names."""
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
    from emulator.filters.syntax import Identifier

    if isinstance(tree, Identifier):
        yield tree.path
    elif isinstance(tree, tuple):
        for each in tree:
            yield from _identifiers(each)
    elif dataclasses.is_dataclass(tree):
        for field in dataclasses.fields(tree):
            yield from _identifiers(getattr(tree, field.name))
