"""Field tables with the type tags of RabbitMQ, which differ from those of the specification.

A value keeps its tag, so that what comes back is what was sent: an ``I`` does not become an ``l``.
"""

from __future__ import annotations

from math import isfinite
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

TEXT: Final = ("utf-8", "surrogateescape")
"""How bytes that should be text become text and bytes again, whatever they are."""
LONGEST_NAME: Final = 255
"""Bytes of a key, and of any other short string."""
_INTEGER_BITS: Final = 31
_LONG_BITS: Final = 63
MOST_NESTED: Final = 64
"""How deep tables and arrays may be nested. A deeper one is damaged or an attack."""


class Field(NamedTuple):
    """A value and its tag: ``S`` long string (bytes), ``F`` table, ``A`` list of fields, and so on."""

    tag: str
    value: Any


Table: TypeAlias = dict[str, Field]


class BadTableError(ValueError):
    """The bytes are no field table that RabbitMQ reads: Erlang has no floats that are no finite numbers."""


class DeepTableError(BadTableError):
    """The tables are nested deeper than ``MOST_NESTED``."""


TYPE_NAMES: Final = {
    "t": "bool",
    "b": "byte",
    "B": "unsignedbyte",
    "s": "short",
    "u": "unsignedshort",
    "I": "signedint",
    "i": "unsignedint",
    "l": "long",
    "L": "long",
    "f": "float",
    "d": "double",
    "D": "decimal",
    "T": "timestamp",
    "S": "longstr",
    "x": "binary",
    "F": "table",
    "A": "array",
    "V": "void",
}
"""RabbitMQ's names of the types, as its refusals give them."""
INTEGERS: Final = frozenset("bBsuIilL")
_FIXED: Final = {
    "t": Struct(">?"),
    "b": Struct(">b"),
    "B": Struct(">B"),
    "s": Struct(">h"),
    "u": Struct(">H"),
    "I": Struct(">i"),
    "i": Struct(">I"),
    "l": Struct(">q"),
    "L": Struct(">q"),
    "f": Struct(">f"),
    "d": Struct(">d"),
    "T": Struct(">Q"),
    "D": Struct(">BI"),
}
_LONG: Final = Struct(">I")


def text(value: str) -> Field:
    """A long string."""
    return Field("S", value.encode(*TEXT))


def make_table(given: Any, depth: int = 0) -> Table:
    """The field table of a JSON object; an empty list is one to Erlang, too.

    Raises BadTableError with RabbitMQ's word for what is wrong.
    """
    if given == []:
        return {}
    if not isinstance(given, dict) or depth > MOST_NESTED:
        raise BadTableError("not_a_table")
    if any(len(name.encode(*TEXT)) > LONGEST_NAME for name in given):
        raise BadTableError("not_string")
    return {name: make_field(value, depth + 1) for name, value in given.items()}


def make_field(value: Any, depth: int = 0) -> Field:
    """A value of JSON with a tag. Raises as ``make_table`` does."""
    match value:
        case bool():
            return Field("t", value)
        case int() if value.bit_length() <= _LONG_BITS:
            return Field("I" if value.bit_length() <= _INTEGER_BITS else "l", value)
        case float() if isfinite(value):
            return Field("d", value)
        case str():
            return text(value)
        case dict():
            return Field("F", make_table(value, depth))
        case list() if depth <= MOST_NESTED:
            return Field("A", [make_field(each, depth + 1) for each in value])
        case None:
            raise BadTableError("null_not_allowed")
    raise BadTableError("not_a_value")


def plain_table(table: Table) -> dict[str, Any]:
    """A field table as JSON has it: without tags, and bytes as text."""
    return {name: _plain(field) for name, field in table.items()}


def _plain(field: Field) -> Any:
    match field.tag:
        case "S" | "x":
            return field.value.decode(*TEXT)
        case "F":
            return plain_table(field.value)
        case "A":
            return [_plain(each) for each in field.value]
    return field.value


def decode_table(data: bytes, at: int = 0, depth: int = 0) -> tuple[Table, int]:
    """Read the table at an offset; return it and the offset behind it. Raises BadTableError."""
    if depth > MOST_NESTED:
        raise DeepTableError
    table: Table = {}
    at, end = _extent(data, at)
    while at < end:
        name_end = at + 1 + data[at]
        name = data[at + 1 : name_end].decode(*TEXT)
        table[name], at = _decode_field(data, name_end, end, depth)
    return table, at


def encode_table(table: Table) -> bytes:
    """Write a table with its length before it. Keys keep their order."""
    parts = []
    for name, field in table.items():
        key = name.encode(*TEXT)
        parts.append(bytes((len(key),)) + key + _encode_field(field))
    entries = b"".join(parts)
    return _LONG.pack(len(entries)) + entries


def _extent(data: bytes, at: int) -> tuple[int, int]:
    """Where the entries begin and end whose length stands at an offset."""
    begin = at + _LONG.size
    if begin > len(data):
        raise BadTableError("the table has no length")
    end = begin + _LONG.unpack_from(data, at)[0]
    if end > len(data):
        raise BadTableError("the table ends too early")
    return begin, end


def _decode_field(data: bytes, at: int, end: int, depth: int) -> tuple[Field, int]:
    if at >= end:
        raise BadTableError("a field has no type")
    tag = chr(data[at])
    at += 1
    if (fixed := _FIXED.get(tag)) is not None:
        after = at + fixed.size
        if after > end:
            raise BadTableError("a field ends too early")
        unpacked = fixed.unpack_from(data, at)
        if tag in "fd" and not isfinite(unpacked[0]):
            raise BadTableError(f"{unpacked[0]} is no finite number")
        return Field("l" if tag == "L" else tag, unpacked if tag == "D" else unpacked[0]), after
    if tag == "V":
        return Field(tag, None), at
    if tag not in "SxFA":
        raise BadTableError(f"no field has the type {tag!r}")
    begin, after = _extent(data, at)
    if after > end:
        raise BadTableError("a field ends too early")
    if tag == "F":
        return Field(tag, decode_table(data, at, depth + 1)[0]), after
    if tag == "A":
        return Field(tag, _decode_array(data, begin, after, depth)), after
    return Field(tag, data[begin:after]), after


def _decode_array(data: bytes, at: int, end: int, depth: int) -> list[Field]:
    if depth >= MOST_NESTED:
        raise DeepTableError
    fields = []
    while at < end:
        field, at = _decode_field(data, at, end, depth + 1)
        fields.append(field)
    return fields


def _encode_field(field: Field) -> bytes:
    tag, value = field
    mark = tag.encode("latin-1")
    if (fixed := _FIXED.get(tag)) is not None:
        return mark + (fixed.pack(*value) if tag == "D" else fixed.pack(value))
    if tag == "V":
        return mark
    if tag == "F":
        return mark + encode_table(value)
    content = b"".join(map(_encode_field, value)) if tag == "A" else value
    return mark + _LONG.pack(len(content)) + content
