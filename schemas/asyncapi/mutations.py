"""The ways to break the schema of a value: one mutation for each rule that holds somewhere in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from schemas.asyncapi.json_schemas import Schema, list_bases

Steps = tuple[str | int, ...]
_MISSING = object()
_ITEMS: Final = 2
"""How many items of a list are mutated: the others have the same schema."""
_LARGEST: Final = 100_000
"""The highest bound of a length that is exceeded: what exceeds it does not fit in a record or a header."""


class Mutation(NamedTuple):
    """The keyword that is to be broken, where, and what to put there; ``_MISSING`` removes what is there."""

    rule: str
    steps: Steps
    value: Any

    def apply(self, whole: Any) -> Any:
        """A copy of a value with the mutation in it."""
        return put(whole, self.steps, self.value)


def list_mutations(value: Any, whole: Schema) -> Iterator[Mutation]:
    """The mutations of a value that meets a schema that ``json_schemas.bundle`` made, in the schema's order.

    Some may leave it valid: another rule may allow what one forbids.
    """
    yield from _list_below(value, whole, whole, ())


def _list_below(value: Any, schema: Any, whole: Schema, steps: Steps) -> Iterator[Mutation]:
    bases = list_bases(schema, whole)
    for base in tuple(bases):
        branches = (*base.get("anyOf", ()), *base.get("oneOf", ()))
        bases += [each for branch in branches for each in list_bases(branch, whole) if each not in bases]
    for base in bases:
        yield from (Mutation(rule, steps, broken) for rule, broken in _break(value, base))
        if isinstance(value, dict):
            yield from _list_in_object(value, base, whole, steps)
        elif isinstance(value, list):
            yield from _list_in_array(value, base, whole, steps)


def _list_in_object(value: Any, base: dict[str, Any], whole: Schema, steps: Steps) -> Iterator[Mutation]:
    for name in base.get("required", ()):
        if name in value:
            yield Mutation("required", (*steps, name), _MISSING)
    if base.get("additionalProperties") is False or base.get("unevaluatedProperties") is False:
        yield Mutation("additionalProperties", (*steps, "x_not_declared"), True)
    named = base.get("properties", {})
    others = dict.fromkeys([name for name in value if name not in named], base.get("additionalProperties"))
    for name, below in {**named, **others}.items():
        if name in value:
            yield from _list_below(value[name], below, whole, (*steps, name))


def _list_in_array(value: Any, base: dict[str, Any], whole: Schema, steps: Steps) -> Iterator[Mutation]:
    items = base.get("items")
    first = items if isinstance(items, list) else base.get("prefixItems", ())
    for at, item in enumerate(value[:_ITEMS]):
        below = first[at] if at < len(first) else items
        yield from _list_below(item, below, whole, (*steps, at))


def _break(value: Any, base: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The rules of one schema that a value can be made to break, and what breaks each."""
    if "type" in base:
        yield "type", {} if isinstance(value, list) else [value]
        yield "type", 17 if isinstance(value, str) else "seventeen"
    for rule in ("enum", "const"):
        if rule in base:
            yield rule, f"{value}-unknown" if isinstance(value, str) else "unknown"
    if isinstance(value, str):
        yield from _break_text(value, base)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _break_number(value, base)
    elif isinstance(value, list):
        yield from _break_list(value, base)
    elif isinstance(value, dict):
        if base.get("maxProperties", _LARGEST) < _LARGEST:
            more = {f"more_{at}": at for at in range(int(base["maxProperties"]) + 1)}
            yield "maxProperties", {**value, **more}
        if base.get("minProperties"):
            yield "minProperties", {}


def _break_text(value: str, base: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if base.get("minLength"):
        yield "minLength", value[: int(base["minLength"]) - 1]
    if base.get("maxLength", _LARGEST) < _LARGEST:
        yield "maxLength", value.ljust(int(base["maxLength"]) + 1, "x")
    if "pattern" in base:
        yield "pattern", "\N{SNOWMAN} is not it"
    if "format" in base:
        yield "format", f"no {base['format']} \N{SNOWMAN} ["


def _break_number(value: float, base: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for rule in ("minimum", "exclusiveMinimum"):
        if isinstance(base.get(rule), int | float):
            yield rule, base[rule] - 1
    for rule in ("maximum", "exclusiveMaximum"):
        if isinstance(base.get(rule), int | float):
            yield rule, base[rule] + 1
    if "multipleOf" in base:
        yield "multipleOf", value + base["multipleOf"] / 2


def _break_list(value: list[Any], base: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if base.get("minItems"):
        yield "minItems", value[: int(base["minItems"]) - 1]
    if value and base.get("maxItems", _LARGEST) < _LARGEST:
        yield "maxItems", (value * (int(base["maxItems"]) + 1))[: int(base["maxItems"]) + 1]
    if base.get("uniqueItems") is True and value:
        yield "uniqueItems", [*value, value[0]]
    if "contains" in base:
        yield "contains", []


def put(whole: Any, steps: Steps, value: Any) -> Any:
    """A copy of a value with another one under these names; objects that are missing are made."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(whole, list) and isinstance(step, int):
        return [*whole[:step], put(whole[step], rest, value), *whole[step + 1 :]]
    holder = whole if isinstance(whole, dict) else {}
    if not rest and value is _MISSING:
        return {name: below for name, below in holder.items() if name != step}
    return {**holder, step: put(holder.get(step), rest, value)}
