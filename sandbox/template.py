"""Templates of mapping files: an object with paths that are filled in from an item.

A text that starts with ``$`` is a path into the item: ``$.people.0.name``, or ``$``
for the item itself. An object with one of these keys is an operation:

- ``$first``: a list of templates; the first with a value
- ``$each``: a path to a list, with ``$make``: a template for each element; there ``$`` is the element and
  ``$$`` the item
- ``$when``: a path, with ``$make``: a template that is used only if the path has a value
- ``$term``: a path or template, with ``$of``: a table of terms, and ``$else``: the template for other values
- ``$uuid``: a list of templates; a UUID derived from their values
- ``$time``: a path to a time in ISO 8601; the time in RFC 3339, in UTC if it has no zone
- ``$text``: a list of templates; their texts joined
- ``$list``: a list of templates; those with a value

A field without a value is left out. Everything else is copied.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from rdss_sandbox.text.timestamps import timestamp


class _Nothing:
    """The type of ``NOTHING``, the value of a path that leads nowhere, to null or to an empty text."""


NOTHING: Final = _Nothing()


class TemplateError(ValueError):
    """An item does not fit the template; the message has the path and the value."""


@dataclass(frozen=True, slots=True)
class TemplateScope:
    """The values of ``$`` (``here``) and ``$$`` (``item``), and the namespace of UUIDs."""

    here: Any
    item: Any
    namespace: uuid.UUID


def fill(template: Any, scope: TemplateScope) -> Any:
    """Fill in a template; ``NOTHING`` when it has no value. Raises TemplateError."""
    if isinstance(template, str):
        return _path(template, scope) if template.startswith("$") else template
    if isinstance(template, list):
        return [value for each in template if (value := fill(each, scope)) is not NOTHING]
    if not isinstance(template, dict):
        return template
    for key, work_out in _OPERATIONS.items():
        if key in template:
            return work_out(template, scope)
    filled = {key: value for key, each in template.items() if (value := fill(each, scope)) is not NOTHING}
    return filled if filled or not template else NOTHING


def resolve(path: str, item: Any) -> Any:
    """The value of a path in an item, or ``NOTHING``."""
    return _path(path, TemplateScope(item, item, uuid.NAMESPACE_OID))


def _path(path: str, scope: TemplateScope) -> Any:
    steps = path.split(".")
    found = scope.item if steps[0] == "$$" else scope.here
    for step in steps[1:]:
        if isinstance(found, dict):
            found = found.get(step, NOTHING)
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            return NOTHING
    return NOTHING if found is None or found == "" else found


def _first(template: dict[str, Any], scope: TemplateScope) -> Any:
    return next(
        (value for each in template["$first"] if (value := fill(each, scope)) is not NOTHING), NOTHING
    )


def _each(template: dict[str, Any], scope: TemplateScope) -> Any:
    elements = fill(template["$each"], scope)
    if elements is NOTHING:
        return NOTHING
    if not isinstance(elements, list):
        raise TemplateError(f"{template['$each']} is {elements!r}, which is not a list")
    made = (fill(template["$make"], TemplateScope(each, scope.item, scope.namespace)) for each in elements)
    return [value for value in made if value is not NOTHING] or NOTHING


def _when(template: dict[str, Any], scope: TemplateScope) -> Any:
    return NOTHING if fill(template["$when"], scope) is NOTHING else fill(template["$make"], scope)


def _term(template: dict[str, Any], scope: TemplateScope) -> Any:
    value = fill(template["$term"], scope)
    table = template["$of"]
    word = str(value).lower() if isinstance(value, bool) else str(value)
    if value is not NOTHING and word in table:
        return table[word]
    if "$else" in template:
        return fill(template["$else"], scope)
    if value is NOTHING:
        return NOTHING
    raise TemplateError(f"{template['$term']} is {value!r}; the mapping knows {', '.join(map(str, table))}")


def _uuid(template: dict[str, Any], scope: TemplateScope) -> Any:
    values = [fill(each, scope) for each in template["$uuid"]]
    return str(uuid.uuid5(scope.namespace, "\x1f".join("" if v is NOTHING else str(v) for v in values)))


def _time(template: dict[str, Any], scope: TemplateScope) -> Any:
    text = fill(template["$time"], scope)
    if text is NOTHING:
        return NOTHING
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError as error:
        raise TemplateError(f"{template['$time']} is {text!r}, which is not a time in ISO 8601") from error
    return timestamp((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _text(template: dict[str, Any], scope: TemplateScope) -> Any:
    values = [fill(each, scope) for each in template["$text"]]
    return NOTHING if any(value is NOTHING for value in values) else "".join(map(str, values))


def _list(template: dict[str, Any], scope: TemplateScope) -> Any:
    return fill(template["$list"], scope) or NOTHING


_OPERATIONS: Final[dict[str, Callable[[dict[str, Any], TemplateScope], Any]]] = {
    "$first": _first,
    "$each": _each,
    "$when": _when,
    "$term": _term,
    "$uuid": _uuid,
    "$time": _time,
    "$text": _text,
    "$list": _list,
}
