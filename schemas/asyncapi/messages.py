"""The messages of a document: their payloads, headers, examples and the places of their fields."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from schemas.asyncapi import avro
from schemas.asyncapi.declarations import Content, Location, Locations, Message, Part
from schemas.asyncapi.documents import Documents, Node
from schemas.asyncapi.json_schemas import (
    bundle,
    hold_both,
    list_bases,
    list_constants,
    list_properties,
    list_required,
)
from schemas.asyncapi.object_reader import ObjectReader

_FIELDS: Final = (
    "headers", "payload", "correlationId", "contentType", "name", "title", "summary", "description", "tags",
    "externalDocs", "bindings", "examples", "traits",
)  # fmt: skip
SANDBOX_FIELDS: Final = (
    "id", "source", "type", "orderKey", "published", "expires", "part", "reject", "codes", "maxBytes",
)  # fmt: skip
EVENT_NAMES: Final = ("id", "source", "type", "specversion")
"""The attributes that every CloudEvent has."""
EVENT_PREFIXES: Final = ("cloudEvents:", "cloudEvents_", "ce-", "ce_")
"""How the names of headers begin in which the bindings of CloudEvents carry its attributes."""
_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "required": list(EVENT_NAMES),
    "properties": {
        "id": {"type": "string", "minLength": 1},
        "source": {"type": "string", "minLength": 1, "format": "uri-reference"},
        "type": {"type": "string", "minLength": 1},
        "specversion": {"const": "1.0"},
        "datacontenttype": {"type": "string", "pattern": "^[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+ *(;.*)?$"},
        "dataschema": {"type": "string", "format": "uri"},
        "subject": {"type": "string", "minLength": 1},
        "time": {"type": "string", "format": "date-time"},
    },
}
"""What CloudEvents 1.0 asks of every event in its JSON format."""
_LOCATION: Final = re.compile(r"\$message\.(?:(header|payload)#((?:/[^/]+)+)|(key))")


def read_location(reader: ObjectReader, name: str) -> Location | None:
    """A runtime expression under a name, ``$message.payload#/a/b``; None without one."""
    text = reader.text(name)
    found = _LOCATION.fullmatch(text)
    if found is None:
        if text:
            reader.problem(
                f"{text[:80]} is no location: $message.payload#/..., $message.header#/... or $message.key",
                name,
            )
        return None
    if found[3]:
        return Location("key")
    part: Part = "payload" if found[1] == "payload" else "header"
    steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in found[2].split("/")[1:])
    return Location(part, steps)


def read_locations(documents: Documents, node: Node | None, base: Locations) -> Locations:
    """What ``x-sandbox`` says of the places of fields, over those that are known without it."""
    node = node and node.get("x-sandbox")
    if node is None:
        return base
    reader = ObjectReader(documents, node, SANDBOX_FIELDS)
    locations = {
        ours: read_location(reader, theirs)
        for ours, theirs in (
            ("id", "id"), ("source", "source"), ("type", "type"), ("order_key", "orderKey"),
            ("published", "published"), ("expires", "expires"),
        )
    }  # fmt: skip
    part = reader.within("part")
    if part is not None:
        inner = ObjectReader(documents, part, ("sequence", "position", "total"))
        locations |= {name: read_location(inner, name) for name in ("sequence", "position", "total")}
        if not all(locations[name] for name in ("sequence", "position", "total")):
            inner.problem("a part has the locations of its sequence, its position and the total")
    return replace(base, **{name: location for name, location in locations.items() if location})


def read_message(
    documents: Documents, node: Node, key: str, default_content: str
) -> Iterator[tuple[Message, Locations]]:
    """A message and the places of its fields; several, where a discriminator tells its payloads apart."""
    node = _merge_traits(documents, node)
    reader = ObjectReader(documents, node, _FIELDS)
    payload, schema_format = _unwrap(documents, reader.within("payload"))
    content_type = reader.text("contentType", default_content or "application/json").lower()
    content, schema = _read_payload(documents, payload, schema_format, content_type)
    header_node, header_format = _unwrap(documents, reader.within("headers"))
    headers = bundle(documents, header_node, header_format) if header_node else None
    carried, prefix = _find_event(content, content_type, schema, headers)
    correlation = reader.within("correlationId")
    locations = Locations()
    if correlation is not None:
        inner = ObjectReader(documents, correlation, ("location", "description"))
        locations = replace(locations, id=read_location(inner, "location"))
    if carried == "structured":
        schema = hold_both(True if schema is None else schema, _EVENT)
    elif carried == "binary":
        headers = hold_both(
            headers or True, {"type": "object", "required": [prefix + name for name in EVENT_NAMES]}
        )
    if carried:
        locations = _locate_event(carried, prefix, schema if carried == "structured" else headers)
    locations = read_locations(documents, node, locations)
    name = reader.text("name") or key
    message = Message(
        name, reader.text("title"), content, content_type, schema, headers,
        tuple(_read_examples(documents, reader)), cloud_event=carried,
    )  # fmt: skip
    yield from _split_by_discriminator(message, locations)


def _unwrap(documents: Documents, node: Node | None) -> tuple[Node | None, str | None]:
    """A schema and its format, where it is a Multi Format Schema Object."""
    if node is None or not isinstance(node.value, dict) or "schemaFormat" not in node.value:
        return node, None
    reader = ObjectReader(documents, node, ("schemaFormat", "schema"))
    inner = reader.within("schema")
    if "schema" not in node.value:
        reader.problem("a schemaFormat comes with a schema")
    return inner, reader.text("schemaFormat")


def _read_payload(
    documents: Documents, node: Node | None, schema_format: str | None, content_type: str
) -> tuple[Content, Any]:
    text = schema_format or ""
    if node is None:
        return ("json" if "json" in content_type else "opaque"), None
    if "avro" in text:
        return ("avro-json" if "json" in content_type else "avro"), avro.read_schema(documents, node)
    if text and "schema+" not in text and "aai.asyncapi" not in text:
        documents.problems.add(
            node.place,
            f"schemas in {text[:80]} are not supported: JSON Schema and Avro are; "
            "without its schema the message passes as it is",
        )
        return "opaque", None
    schema = bundle(documents, node, text or None)
    if "json" in content_type:
        return "json", schema
    return ("text", schema) if content_type.startswith("text/") else ("opaque", None)


def _find_event(content: Content, content_type: str, schema: Any, headers: Any) -> tuple[Any, str]:
    """How a message is a CloudEvent, and the prefix of its headers."""
    if content_type.startswith("application/cloudevents"):
        return "structured", ""
    if content == "json" and isinstance(schema, dict) and set(EVENT_NAMES) <= list_required(schema, schema):
        return "structured", ""
    names = list_properties(headers, headers).keys() if isinstance(headers, dict) else ()
    found = (prefix for prefix in EVENT_PREFIXES if {f"{prefix}id", f"{prefix}source"} <= set(names))
    prefix = next(found, None)
    return (None, "") if prefix is None else ("binary", prefix)


def _locate_event(carried: str, prefix: str, schema: Any) -> Locations:
    """The places of an event's attributes; of those that it need not have, which its schema names."""
    part: Part = "payload" if carried == "structured" else "header"
    named = {*list_properties(schema, schema), *list_required(schema, schema)}

    def at(name: str) -> Location | None:
        return Location(part, (prefix + name,)) if prefix + name in named else None

    return Locations(
        id=at("id"), source=at("source"), type=at("type"), published=at("time"),
        expires=at("expirytime"), order_key=at("partitionkey"),
    )  # fmt: skip


def _read_examples(documents: Documents, reader: ObjectReader) -> Iterator[Mapping[str, Any]]:
    for node in reader.elements("examples"):
        inner = ObjectReader(documents, node, ("headers", "payload", "name", "summary"))
        if inner.node.get("payload") is None and inner.node.get("headers") is None:
            inner.problem("an example has a payload or headers")
        elif isinstance(node.value, dict):
            yield node.value


def _split_by_discriminator(message: Message, locations: Locations) -> Iterator[tuple[Message, Locations]]:
    """The alternatives of a payload with a discriminator, each a message; else the message itself."""
    whole = message.payload
    bases = list_bases(whole, whole) if message.content == "json" else []
    named = next(
        (base["discriminator"] for base in bases if isinstance(base.get("discriminator"), str)), None
    )
    if named is None:
        yield message, locations
        return
    if locations.type is None:
        locations = replace(locations, type=Location("payload", (named,)))
    holder = next((base for base in bases if isinstance(base.get("oneOf"), list)), None)
    if holder is None:
        yield message, locations
        return
    for at, alternative in enumerate(holder["oneOf"]):
        reference = alternative.get("$ref", "") if isinstance(alternative, dict) else ""
        schema = {
            **{name: value for name, value in whole.items() if holder is not whole or name != "oneOf"},
            "allOf": [*whole.get("allOf", ()), alternative],
        }
        values = list_constants(schema, (named,))
        name = reference.rpartition("/")[2] or f"{message.name}_{at + 1}"
        yield replace(message, name=name, payload=schema, values=values or (name,)), locations


def _merge_traits(documents: Documents, node: Node) -> Node:
    """The message with what its traits have and it has not; of two traits the later one counts."""
    if not isinstance(node.value, dict) or "traits" not in node.value:
        return node
    merged: Any = {}
    for trait in ObjectReader(documents, node).elements("traits"):
        reader = ObjectReader(documents, trait, _FIELDS)
        if reader.node.get("payload") or reader.node.get("traits"):
            reader.problem("a trait has neither a payload nor traits")
        if isinstance(trait.value, dict):
            merged = _merge(merged, _with_whole_references(trait, node))
    own = {name: value for name, value in node.value.items() if name != "traits"}
    return Node(_merge(merged, own), node.place)


def _with_whole_references(trait: Node, node: Node) -> Any:
    """A trait whose references mean the same in the file of its message."""
    if trait.place.file == node.place.file:
        return trait.value

    def copy(value: Any) -> Any:
        if isinstance(value, list):
            return [copy(each) for each in value]
        if not isinstance(value, dict):
            return value
        made = {name: copy(below) for name, below in value.items()}
        if isinstance(value.get("$ref"), str):
            file, _, fragment = value["$ref"].partition("#")
            target = trait.place.file.parent / file if file else trait.place.file
            made["$ref"] = f"{os.path.relpath(target, node.place.file.parent)}#{fragment}"
        return made

    return copy(trait.value)


def _merge(base: Any, over: Any) -> Any:
    """What a JSON Merge Patch (RFC 7386) of ``base`` by ``over`` gives."""
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    return {**base, **{name: _merge(base.get(name), value) for name, value in over.items()}}
