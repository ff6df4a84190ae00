"""The fields of a document's messages that are indexed, filtered, shown and written to tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from schemas.asyncapi.avro import as_json_schema
from schemas.asyncapi.declarations import Declared, Location, Message
from schemas.asyncapi.json_schemas import list_bases, list_properties
from schemas.fields import COMMON, OF_RECORDS, OF_VERDICTS, Field, Kind, Stored

MOST_LABELS: Final = 24
"""The most fields of a contract's own."""
MOST_INDEXED: Final = 6
"""How many of them the index keeps; the others are read when a message is looked at."""
_TAKEN: Final = frozenset(
    {
        *COMMON,
        *OF_RECORDS,
        *OF_VERDICTS,
        "message_id",
        "message_type",
        "error_code",
        "order_key",
        "order",
        "damaged",
        "part",
        "source",
    }
)
_STORED: Final[dict[str, tuple[Kind, Stored]]] = {
    "string": ("text", "STRING"),
    "integer": ("number", "BIGINT"),
    "number": ("number", "DOUBLE"),
    "boolean": ("text", "STRING"),
}


def list_labels(declared: Declared) -> dict[str, tuple[Location, Any]]:
    """The plain values at the top of the payloads, each by the name of its column, with one schema of it."""
    found: dict[str, tuple[Location, Any]] = {}
    known = declared.list_places()
    for message in declared.messages:
        for steps, schema in _list_plain(message).items():
            column = re.sub(r"[^0-9A-Za-z_]", "_", steps[-1])
            column = column if column.isidentifier() and column.lower() not in _TAKEN else f"payload_{column}"
            taken = (
                column.lower() in map(str.lower, found)
                or Location("payload", steps) in known
                or len(found) == MOST_LABELS
            )
            if schema.get("type") in _STORED and not taken:
                found[column] = (Location("payload", steps), schema)
    return found


def list_mixed(declared: Declared, labels: Mapping[str, tuple[Location, Any]]) -> set[str]:
    """The labels of which the messages say several types."""
    kinds: dict[tuple[str, ...], set[Any]] = {}
    for message in declared.messages:
        for steps, schema in _list_plain(message).items():
            kinds.setdefault(steps, set()).add(schema.get("type"))
    return {column for column, (location, _) in labels.items() if len(kinds[location.steps]) > 1}


def _list_plain(message: Message) -> dict[tuple[str, ...], dict[str, Any]]:
    """What the schemas say of the values at the top of a payload; for an event, those of its data first."""
    whole = as_json_schema(message.payload) if message.content.startswith("avro") else message.payload
    if not isinstance(whole, dict):
        return {}
    top = list_properties(whole, whole)
    data = list_properties({"allOf": top.get("data", [])}, whole) if message.cloud_event else {}
    plain: dict[tuple[str, ...], list[Any]] = {("data", name): schemas for name, schemas in data.items()}
    plain |= {(name,): schemas for name, schemas in top.items()}
    return {steps: _merge(schemas, whole) for steps, schemas in plain.items()}


def _merge(schemas: list[Any], whole: Any) -> dict[str, Any]:
    """What some schemas of one property say together of its type, its values and its format."""
    merged: dict[str, Any] = {}
    for schema in schemas:
        for base in list_bases(schema, whole):
            merged = {**base, **merged}
    kinds = merged.get("type")
    if isinstance(kinds, list):
        merged["type"] = next((kind for kind in kinds if kind != "null"), None)
    elif kinds is None:
        values = merged.get("enum") or ([merged["const"]] if "const" in merged else [])
        merged["type"] = "string" if values and all(isinstance(value, str) for value in values) else None
    return merged


def make_fields(
    declared: Declared,
    kinds: tuple[str, ...],
    labels: Mapping[str, tuple[Location, Any]],
    codes: tuple[str, ...],
) -> tuple[Field, ...]:
    """The fields of a contract, those that mean the same in every contract first."""
    ours = (_make_field(declared, name) for name in _MEANINGS)
    kind = Field("type", "message_type", _path(declared.type) or "type", "text", "message_type",
                 f"type:{kinds[0]}", kinds, counted=True)  # fmt: skip
    code = Field("code", "code", "x-sandbox-rejected.code", "text", "error_code", f"code:{codes[0]}", codes,
                 counted=True)  # fmt: skip
    theirs = (_make_label(column, *label, number) for number, (column, label) in enumerate(labels.items()))
    return (kind, code, *(field for field in ours if field), *theirs)


_MEANINGS: Final[Mapping[str, dict[str, Any]]] = {
    "id": {"column": "message_id", "kind": "identifier", "example": "id:3f2a*"},
    "source": {"kind": "text", "counted": True},
    "order_key": {"kind": "text", "meaning": "messages with the same one keep their order"},
    "sequence": {"kind": "identifier", "meaning": "the sequence that it is part of"},
    "position": {"kind": "number", "example": "position:2", "stored": "INT"},
    "total": {"kind": "number", "example": "total>1", "stored": "INT"},
    "published": {"kind": "time", "indexed": False, "stored": "TIMESTAMP"},
    "expires": {"kind": "time", "indexed": False, "stored": "TIMESTAMP"},
}


def _path(location: Location | None) -> str:
    return ".".join(location.steps) or location.part if location else ""


def _make_field(declared: Declared, name: str) -> Field | None:
    """The field of a location; None where no message has it."""
    places = (getattr(each, name) for each in declared.locations.values())
    place = next((place for place in places if place), None)
    about = {"column": name, **_MEANINGS[name]}
    return Field(name=name, path=_path(place), attribute=about["column"], **about) if place else None


def _make_label(column: str, location: Location, schema: Any, number: int) -> Field:
    kind, stored = _STORED[schema["type"]]
    choices = tuple(str(value) for value in schema.get("enum", ()))
    return Field(
        column,
        column,
        _path(location),
        kind,
        column,
        f"{column}:{choices[0]}" if choices else "",
        choices,
        counted=bool(choices),
        indexed=number < MOST_INDEXED,
        listed=number < 2,
        stored=stored,
    )
