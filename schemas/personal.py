"""What schemas mark as personal: ``x-sandbox: {personal: true}`` on a value, and so on all that is in it.

Schemas are walked as a message is: under the name of each value, and through references and alternatives,
of which it is enough that one marks a place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    import jsonschema_rs

MARK: Final = "x-sandbox"
_ALTERNATIVES: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONS: Final = ("if", "then", "else")
_MAPS: Final = ("dependentSchemas", "dependencies")
_OF_OTHER_NAMES: Final = ("additionalProperties", "unevaluatedProperties")
_OF_ITEMS: Final = ("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems")
_ASKING: Final = frozenset(
    {
        "pattern",
        "format",
        "enum",
        "const",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    }
)
"""What a value of the same type and length may break."""


class MarkedSchemas:
    """Schemas that refer to one another: to what is in ``shared``, by the name at the top."""

    def __init__(self, shared: Mapping[str, Any]) -> None:
        self.shared: Final = shared
        self._places: dict[tuple[bool, tuple[int, ...]], MarkedPlace] = {}

    def place(self, schemas: Iterable[Any], *, personal: bool = False) -> MarkedPlace:
        """The place that these schemas are of, once; ``personal`` where what is around it is marked."""
        found = tuple(schema for schema in schemas if isinstance(schema, dict))
        key = (personal, tuple(map(id, found)))
        if key not in self._places:
            self._places[key] = MarkedPlace(self, found, personal=personal)
        return self._places[key]

    def expand(self, schemas: Iterable[Any]) -> list[dict[str, Any]]:
        """The schemas, and all that hold where they do or may hold."""
        found: list[dict[str, Any]] = []
        waiting = list(schemas)
        while waiting:
            each = waiting.pop(0)
            if not isinstance(each, dict) or any(each is known for known in found):
                continue
            found.append(each)
            if isinstance(each.get("$ref"), str):
                waiting.append(self._resolve(each["$ref"]))
            for name in _ALTERNATIVES:
                waiting += each.get(name, ())
            waiting += [each[name] for name in _CONDITIONS if name in each]
            for name in _MAPS:
                waiting += each.get(name, {}).values()
        return found

    def _resolve(self, reference: str) -> Any:
        value: Any = self.shared
        for step in reference.removeprefix("#/").split("/"):
            value = value.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(value, dict) else None
        return value


class MarkedPlace:
    """A place in messages: ``known`` if a schema describes it, ``personal`` if one marks it."""

    def __init__(self, around: MarkedSchemas, schemas: tuple[dict[str, Any], ...], *, personal: bool) -> None:
        self._around = around
        self._schemas = schemas
        self._bases = around.expand(schemas)
        self._below: dict[str, MarkedPlace] = {}
        self.known: Final = bool(schemas)
        self.personal: Final = personal or any(_is_marked(base) for base in self._bases)

    def below(self, name: str) -> MarkedPlace:
        """The place of what an object has under a name."""
        known = self._below.get(name)
        if known is not None:
            return known
        found = [schema for base in self._bases for schema in _list_below(base, name)]
        place = self._around.place(found, personal=self.personal)
        if name in self.names:  # others may be as many as there are messages
            self._below[name] = place
        return place

    @cached_property
    def items(self) -> MarkedPlace:
        """The place of the items of an array."""
        found: list[Any] = []
        for base in self._bases:
            for name in _OF_ITEMS:
                below = base.get(name, [])
                found += below if isinstance(below, list) else [below]
        return self._around.place(found, personal=self.personal)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that schemas list of what an object has: they say nothing of anyone."""
        return frozenset(name for base in self._bases for name in base.get("properties", ()))

    @cached_property
    def marks_names(self) -> bool:
        """Whether the names themselves are personal, by a mark on ``propertyNames``."""
        return any(_is_marked(base.get("propertyNames")) for base in self._bases)

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The texts that schemas list; empty where there may be others."""
        listed = (
            base.get("enum") or [base[name] for name in ("const",) if name in base] for base in self._bases
        )
        return tuple({value for values in listed for value in values if isinstance(value, str)})

    @cached_property
    def asks(self) -> bool:
        """Whether a schema may refuse a value of the type and the length of one that it takes."""
        return any(_ASKING & base.keys() for base in self._bases)

    def takes_as(self, value: Any) -> Callable[[Any], bool]:
        """What says of another value whether each schema takes it that takes ``value``."""
        asked = [each for each in self._validators if _takes(each, value)]
        return lambda other: all(_takes(each, other) for each in asked)

    @cached_property
    def _validators(self) -> list[jsonschema_rs.Validator]:
        # An extra has it, and every start would wait for it.
        import jsonschema_rs

        shared = self._around.shared
        return [
            jsonschema_rs.validator_for(
                {**{name: value for name, value in shared.items() if name != "$ref"}, "allOf": [schema]},
                validate_formats=True,
                offline=True,
            )
            for schema in self._schemas
        ]


class BodyForm(NamedTuple):
    """How the body of a message is read, and the places in it and in the headers beside it.

    Without ``decode`` it is JSON; else that reads it, ``encode`` writes it, and bytes that are none raise
    any exception.
    """

    body: MarkedPlace
    headers: MarkedPlace
    decode: Callable[[bytes], Any] | None = None
    encode: Callable[[Any], bytes] | None = None


class Personal(Protocol):
    """What is personal in the messages of a contract. ``marked`` says whether anything is."""

    @property
    def marked(self) -> bool: ...

    def form(self, raw: bytes, key: str = "", /) -> BodyForm | None:
        """The form of a message by what it says of its kind; None for bytes that are not looked into."""


NOWHERE: Final = MarkedSchemas({}).place(())
"""A place that no schema describes."""


def is_marked_anywhere(value: Any) -> bool:
    """Whether there is a mark in a schema, or in what it holds."""
    if isinstance(value, list):
        return any(map(is_marked_anywhere, value))
    return isinstance(value, dict) and (_is_marked(value) or any(map(is_marked_anywhere, value.values())))


def list_marked(place: MarkedPlace, pointer: str = "", deepest: int = 12) -> Iterator[str]:
    """The JSON Pointers of what is marked in a place, ``*`` for any item; what is in that is not listed."""
    if place.personal:
        yield pointer
    elif pointer.count("/") < deepest:
        for name in sorted(place.names):
            yield from list_marked(place.below(name), f"{pointer}/{name}", deepest)
        if place.items.known:
            yield from list_marked(place.items, f"{pointer}/*", deepest)


def _is_marked(schema: Any) -> bool:
    mark = schema.get(MARK) if isinstance(schema, dict) else None
    return isinstance(mark, dict) and mark.get("personal") is True


def _list_below(base: dict[str, Any], name: str) -> list[Any]:
    """The schemas of a name; of a name that is not listed only those that say something."""
    if name in base.get("properties", ()):
        listed = base["properties"][name]
        found = [{} if listed is True else listed]
    else:
        found = []
    found += [each for pattern, each in base.get("patternProperties", {}).items() if _matches(pattern, name)]
    return found or [base[each] for each in _OF_OTHER_NAMES if base.get(each) not in (None, True, {})]


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return True


def _takes(validator: jsonschema_rs.Validator, value: Any) -> bool:
    try:
        return validator.is_valid(value)
    except ValueError:  # half a surrogate pair
        return False
