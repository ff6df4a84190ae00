"""The columns that the schema of a message gives its table, and the row of a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec

from schemas.asyncapi import avro
from schemas.asyncapi.around import read_headers
from schemas.asyncapi.declarations import Message
from schemas.asyncapi.json_schemas import list_bases, list_properties
from schemas.asyncapi.message_payloads import Payload
from schemas.contract import Content
from schemas.fields import OF_RECORDS, name_columns

_MOST: Final = 500
"""How many objects and arrays of one message have types of their own; the others are JSON."""


class _Shape(NamedTuple):
    """A type as Spark writes it, and what makes a value of it: None of one that does not fit.

    ``columns`` are those of an object by the name in the message, each with its name in tables.
    """

    type: str
    read: Callable[[Any], Any]
    columns: Mapping[str, tuple[str, _Shape]] = {}


def make_contents(payloads: Mapping[str, Payload], *, headers: bool) -> dict[str, Content]:
    """The contents of messages by what they say of their type; none of bytes that are not looked into.

    ``headers`` says whether a transport carries any: those that a message names are the column ``headers``.
    """
    names, contents = name_columns(payloads), dict[str, Content]()
    for name, payload in payloads.items():
        message = payload.message
        carried = _make_payload(message, payload)
        if headers and message.headers not in (None, True):
            carried = _add_headers(message.headers, carried)
        if carried.columns:
            content = Content(names[name], *carried)
            contents |= dict.fromkeys(message.values or (name,), content)
    return contents


class _Carried(NamedTuple):
    columns: Mapping[str, str]
    read: Callable[[bytes], Mapping[str, Any]]


def _make_payload(message: Message, payload: Payload) -> _Carried:
    if message.content == "opaque":
        return _Carried({}, lambda _raw: {})
    schema = avro.as_json_schema(message.payload) if "avro" in message.content else message.payload
    shape = _Shapes(schema).make(schema)
    if shape.columns:
        types = {column: inner.type for column, inner in shape.columns.values()}
        return _Carried(types, lambda raw: shape.read(payload.decode(read_headers(raw).data)) or {})
    return _Carried(
        {"payload": shape.type}, lambda raw: {"payload": shape.read(payload.decode(read_headers(raw).data))}
    )


def _add_headers(schema: Any, carried: _Carried) -> _Carried:
    """The columns of a payload, and one of what is beside it: null where its transport has no headers."""
    shape = _Shapes(schema).make(schema, around=({},))
    column = name_columns(("headers",), (*OF_RECORDS, *carried.columns))["headers"]

    def read(raw: bytes) -> Mapping[str, Any]:
        beside = read_headers(raw).headers
        return {**carried.read(raw), column: None if beside is None else shape.read(dict(beside))}

    return _Carried({**carried.columns, column: shape.type}, read)


class _Shapes:
    def __init__(self, whole: Any) -> None:
        self._whole = whole
        self._left = _MOST

    def make(self, schema: Any, around: tuple[Any, ...] = ()) -> _Shape:
        """The shape of a schema; ``around`` are the schemas that it lies in."""
        bases = self._list_alternative(schema)
        kind = _find_type(bases)
        if kind in _PLAIN:
            return _PLAIN[kind]
        self._left -= 1
        again = any(base is outer for base in bases for outer in around)
        if kind is None or again or self._left < 0:
            return _JSON
        inside = (*around, *bases)
        return self._make_array(bases, inside) if kind == "array" else self._make_object(bases, inside)

    def _list_alternative(self, schema: Any) -> list[dict[str, Any]]:
        """The schemas that hold together; none where it is one of several, of which null is not counted."""
        bases = [base for base in list_bases(schema, self._whole) if base.keys() != {"$ref"}]
        for base in bases:
            for several in (base[name] for name in ("oneOf", "anyOf") if name in base):
                others = [each for each in several if each != {"type": "null"} and {*each} != {"required"}]
                if others:
                    sole = len(others) == 1 == len(bases)
                    return self._list_alternative(others[0]) if sole else []
        return bases

    def _make_object(self, bases: list[dict[str, Any]], inside: tuple[Any, ...]) -> _Shape:
        properties = list_properties({"allOf": bases}, self._whole)
        if not properties:
            return _JSON
        names = name_columns(properties, () if inside[len(bases) :] else OF_RECORDS)
        columns = {
            name: (names[name], self.make(schemas[0] if len(schemas) == 1 else {"allOf": schemas}, inside))
            for name, schemas in properties.items()
        }
        types = ",".join(f"{name}:{inner.type}" for name, inner in columns.values())

        def read(value: Any) -> dict[str, Any] | None:
            if not isinstance(value, dict):
                return None
            return {name: inner.read(value.get(theirs)) for theirs, (name, inner) in columns.items()}

        return _Shape(f"STRUCT<{types}>", read, columns)

    def _make_array(self, bases: list[dict[str, Any]], inside: tuple[Any, ...]) -> _Shape:
        items = [base["items"] for base in bases if isinstance(base.get("items"), dict)]
        if len(items) != 1 or any("prefixItems" in base for base in bases):
            return _JSON
        inner = self.make(items[0], inside)

        def read(value: Any) -> list[Any] | None:
            return [inner.read(each) for each in value] if isinstance(value, list | tuple) else None

        return _Shape(f"ARRAY<{inner.type}>", read)


def _find_type(bases: list[dict[str, Any]]) -> str | None:
    """The one type of a value, besides null; None where it may have several."""
    for base in bases:
        if "type" in base:
            kinds = base["type"] if isinstance(base["type"], list) else [base["type"]]
            named = [kind for kind in kinds if kind != "null"]
            return named[0] if len(named) == 1 else None
    for base in bases:
        values = base.get("enum") or ([base["const"]] if "const" in base else [])
        if values and all(isinstance(value, str) for value in values):
            return "string"
    return "object" if any("properties" in base for base in bases) else None


def _read_integer(value: Any) -> int | None:
    """JSON Schema takes 1.0 for an integer."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    return number if isinstance(number, int) and -(2**63) <= number < 2**63 else None


def _read_number(value: Any) -> float | None:
    with suppress(OverflowError):
        return float(value) if isinstance(value, int | float) else None
    return None


_JSON: Final = _Shape("STRING", lambda value: None if value is None else msgspec.json.encode(value).decode())
_PLAIN: Final = {
    "string": _Shape("STRING", lambda value: value if isinstance(value, str) else None),
    "integer": _Shape("BIGINT", _read_integer),
    "number": _Shape("DOUBLE", _read_number),
    "boolean": _Shape("BOOLEAN", lambda value: value if isinstance(value, bool) else None),
}
