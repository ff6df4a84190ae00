"""Avro schemas of a document, and messages in Avro."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any, Final

from schemas.asyncapi.documents import Documents, Node, is_reference
from schemas.personal import MARK
from schemas.plain_yaml import DEEPEST

_PLAIN: Final[dict[str, dict[str, Any]]] = {
    "string": {"type": "string"}, "int": {"type": "integer"}, "long": {"type": "integer"},
    "float": {"type": "number"}, "double": {"type": "number"}, "boolean": {"type": "boolean"},
    "bytes": {}, "null": {"type": "null"}, "map": {},
}  # fmt: skip
"""What JSON Schema says of Avro's types; nothing of values that JSON has not."""


def read_schema(documents: Documents, node: Node) -> Any:
    """Parse an Avro schema, given as an object or as the text of one; None where it has problems."""
    try:
        import fastavro
        from fastavro.schema import SchemaParseException, UnknownType
    except ImportError:
        documents.problems.add(node.place, "for Avro install fastavro: pip install 'rdss-sandbox[avro]'")
        return None
    value = _replace_references(documents, node)
    try:
        schema = json.loads(value) if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else value
        return fastavro.parse_schema(schema)
    except (SchemaParseException, UnknownType, ValueError, KeyError, TypeError, AttributeError) as error:
        documents.problems.add(node.place, f"this is no Avro schema: {type(error).__name__}: {error}"[:300])
    except RecursionError:
        documents.problems.add(node.place, "this is no Avro schema: it is too deep")
    return None


def _replace_references(documents: Documents, node: Node, left: int = DEEPEST) -> Any:
    """The schema with what it refers to in place of each reference: Avro has none of its own."""
    if left == 0:
        documents.problems.add(node.place, "the references of this Avro schema lead in a circle")
        return None
    if is_reference(node.value):
        followed = documents.follow(node)
        return followed and _replace_references(documents, followed, left - 1)
    if isinstance(node.value, list):
        items = (Node(each, node.place.below(at)) for at, each in enumerate(node.value))
        return [_replace_references(documents, item, left - 1) for item in items]
    if isinstance(node.value, dict):
        fields = ((name, Node(each, node.place.below(name))) for name, each in node.value.items())
        return {name: _replace_references(documents, field, left - 1) for name, field in fields}
    return node.value


def make_decoder(schema: Any, *, as_json: bool) -> Callable[[bytes], Any]:
    """What reads one message, in Avro's binary form or its JSON form. It raises any exception for others."""
    import fastavro

    def decode(raw: bytes) -> Any:
        stream = io.BytesIO(raw)
        datum = fastavro.schemaless_reader(stream, schema, None)
        if stream.tell() != len(raw):
            raise ValueError(f"{len(raw) - stream.tell()} bytes are left over")
        return datum

    def decode_json(raw: bytes) -> Any:
        found = list(fastavro.json_reader(io.StringIO(raw.decode()), schema))
        if len(found) != 1:
            raise ValueError(f"these are {len(found)} values, and a message is one")
        fastavro.validate(found[0], schema)  # the reader of JSON takes a text for a number
        return found[0]

    return decode_json if as_json else decode


def make_encoder(schema: Any, *, as_json: bool) -> Callable[[Any], bytes]:
    """What writes one message in the form that ``make_decoder`` reads."""
    import fastavro

    def encode(datum: Any) -> bytes:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, schema, datum)
        return stream.getvalue()

    def encode_json(datum: Any) -> bytes:
        stream = io.StringIO()
        fastavro.json_writer(stream, schema, [datum])
        return stream.getvalue().encode()

    return encode_json if as_json else encode


def as_json_schema(schema: Any) -> dict[str, Any]:
    """What an Avro schema says of the types of a message, as a JSON Schema that is whole."""
    definitions: dict[str, Any] = {}

    def convert(each: Any) -> dict[str, Any]:
        if isinstance(each, list):
            others = [convert(one) for one in each if one != "null"]
            return others[0] if len(others) == 1 else {"anyOf": others}
        if isinstance(each, str):
            return _PLAIN.get(each, {"$ref": f"#/$defs/{each}"})
        kind = each["type"]
        if not isinstance(kind, str):
            return convert(kind)
        if kind == "array":
            return {"type": "array", "items": convert(each["items"])}
        if "logicalType" in each or kind in _PLAIN:
            return {} if "logicalType" in each else _PLAIN[kind]
        if kind == "enum":
            definitions[each["name"]] = {"type": "string", "enum": each["symbols"]}
        else:
            fields = {
                field["name"]: {**convert(field["type"]), **({MARK: field[MARK]} if MARK in field else {})}
                for field in each.get("fields", ())
            }
            definitions[each["name"]] = {"type": "object", "properties": fields} if fields else {}
        return {"$ref": f"#/$defs/{each['name']}"}

    return {**convert(schema), "$defs": definitions}
