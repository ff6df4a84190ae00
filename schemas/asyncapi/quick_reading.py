"""Types that read a few values of a message, at places that a document declares, and skip all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final

import msgspec

Steps = tuple[str, ...]
NOTHING: Final = "nothing"
LEAF: Final = str | int | float | bool | None
TEXT: Final = str | None
NUMBER: Final = int | float | None
WHOLE: Final = int | None
_WITHIN: Final = "\N{GREEK SMALL LETTER PI}"
"""How attributes begin that are no field of a message: no field begins so."""


def make_reader(
    fields: Mapping[str, tuple[Steps | None, Any]],
    others: Mapping[str, Any],
    converted: Mapping[str, Callable[[str, Any], Any]],
    later: Mapping[str, Callable[[bytes], Any]],
) -> Callable[[bytes], Any]:
    """What reads JSON into an object with these attributes: ``fields`` are each at a place, of a type.

    ``others`` has those of the fields without a place as well. ``later`` are read when they are asked for, of
    the bytes, which the attribute ``NOTHING`` has then. What reads raises for values of other types.
    """
    places = {steps: kind for steps, kind in fields.values() if steps}
    names = {steps: name for name, (steps, _) in fields.items() if steps and name not in converted}
    attributes = make_struct(places, names)[1]
    namespace = {name: None for name, (steps, _) in fields.items() if steps is None} | dict(others)
    for name, (steps, _) in fields.items():
        if steps and attributes[steps] != name:
            namespace[name] = _make_property(name, attrgetter(attributes[steps]), converted.get(name))
    namespace |= {name: _make_late(read) for name, read in later.items()}
    return msgspec.json.Decoder(make_struct(places, names, namespace)[0]).decode


def _make_late(read: Callable[[bytes], Any]) -> property:
    return property(lambda read_fields: read(getattr(read_fields, NOTHING)))


def _make_property(
    name: str, read: Callable[[Any], Any], convert: Callable[[str, Any], Any] | None
) -> property:
    return property(read if convert is None else lambda read_fields: convert(name, read(read_fields)))


def make_struct(
    places: Mapping[Steps, Any], names: Mapping[Steps, str] = {}, namespace: Mapping[str, Any] = {}
) -> tuple[Any, dict[Steps, str]]:
    """A type that reads these values and skips all others; and each one's attribute in it.

    A value at the top has the attribute that ``names`` gives it. ``namespace`` has attributes besides.
    """
    heads = sorted({steps[0] for steps in places if steps})
    fields: list[tuple[str, Any, Any]] = [(NOTHING, None, None)]
    renamed = {NOTHING: "\N{REPLACEMENT CHARACTER}"}
    attributes: dict[Steps, str] = {}
    for number, head in enumerate(heads):
        below = {steps[1:]: kind for steps, kind in places.items() if len(steps) > 1 and steps[0] == head}
        name = f"{_WITHIN}{number}" if below else names.get((head,), f"{_WITHIN}{number}")
        renamed[name] = head
        if below:
            inner, inside = make_struct(below)
            fields.append((name, inner, inner()))
            attributes |= {(head, *steps): f"{name}.{attribute}" for steps, attribute in inside.items()}
        else:
            fields.append((name, places[head,], None))
            attributes[(head,)] = name
    made = msgspec.defstruct("Read", fields, rename=renamed, namespace=dict(namespace), frozen=True, gc=False)
    return made, attributes
