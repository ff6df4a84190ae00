"""What the messages of a document carry, as columns of tables."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from schemas.contract import Content
from tests.schemas.asyncapi.documents import load_text

pytest.importorskip("jsonschema_rs")


_AMQP = {"amqp": {"is": "queue", "queue": {"name": "q"}}}


def _contents(folder: Path, payload: dict[str, Any], bindings: Any = {}, **message: Any) -> Content:  # noqa: B006 -- read only
    document = {
        "asyncapi": "3.0.0",
        "info": {"title": "t", "version": "1"},
        "channels": {"c": {"bindings": bindings, "messages": {"M one": {"payload": payload, **message}}}},
    }
    (content,) = load_text(folder, json.dumps(document), "asyncapi.json").contents.values()
    return content


@pytest.mark.parametrize(
    ("schema", "kind", "value", "stored"),
    [
        ({"type": "string"}, "STRING", "é", "é"),
        ({"enum": ["a", "b"]}, "STRING", "a", "a"),
        ({"type": ["integer", "null"]}, "BIGINT", 7.0, 7),
        ({"type": "integer"}, "BIGINT", 2**63, None),
        ({"type": "number"}, "DOUBLE", 7, 7.0),
        ({"type": "number"}, "DOUBLE", 10**400, None),
        ({"type": "boolean"}, "BOOLEAN", True, True),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, "BOOLEAN", None, None),
        ({"type": ["string", "integer"]}, "STRING", 7, "7"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "STRING", "7", '"7"'),
        ({}, "STRING", {"x": [1]}, '{"x":[1]}'),
        ({"type": "object"}, "STRING", {"x": 1}, '{"x":1}'),
        ({"type": "object", "properties": {"a b": {"type": "integer"}}}, "STRUCT<a_b:BIGINT>",
         {"a b": 1, "more": 2}, {"a_b": 1}),
        ({"properties": {"a": {"type": "integer"}}}, "STRUCT<a:BIGINT>", "no object", None),
        ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
          "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, "STRUCT<a:BIGINT,b:BIGINT>",
         {"b": 1}, {"a": None, "b": 1}),
        ({"allOf": [{"properties": {"a": {"type": "integer"}}}, {"type": "object"}]}, "STRUCT<a:BIGINT>",
         {"a": 1}, {"a": 1}),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
         "ARRAY<STRUCT<a:STRING>>", [{"a": "x"}, {}], [{"a": "x"}, {"a": None}]),
        ({"type": "array", "items": {"oneOf": [{"type": "string"}, {"type": "null"}, {"type": "number"}]}},
         "ARRAY<STRING>", ["x", 1], ['"x"', "1"]),
        ({"type": "array"}, "STRING", [1, "x"], '[1,"x"]'),
    ],
)  # fmt: skip
def test_a_value_has_a_type_of_its_own_or_is_json(
    tmp_path: Path, schema: dict[str, Any], kind: str, value: Any, stored: Any
) -> None:
    """Objects are structs, arrays arrays; what may be of several types is JSON; what does not fit is null."""
    content = _contents(tmp_path, {"type": "object", "properties": {"it": schema}})
    assert content.columns == {"it": kind}
    assert content.read(json.dumps({"it": value}).encode()) == {"it": stored}


def test_names_are_made_legal_and_told_apart(tmp_path: Path) -> None:
    """A column is never called as one that all tables have, nor as another one in other letters."""
    names = ["a-b", "a.b", "A_B", "1st", "", "batch", "Stream"]
    content = _contents(tmp_path, {"properties": {name: {"type": "string"} for name in names}})
    assert content.name == "M_one"
    assert [*content.columns] == ["a_b", "a_b_2", "A_B_3", "_1st", "_", "batch_2", "Stream_2"]
    row = content.read(json.dumps({name: f"<{name}>" for name in names}).encode())
    assert [*row.values()] == [f"<{name}>" for name in names]


def test_a_schema_that_contains_itself_is_json_where_it_does_again(tmp_path: Path) -> None:
    """The columns of a tree end."""
    again = {"$ref": "#/channels/c/messages/M%20one/payload/definitions/tree"}
    tree = {"type": "object", "properties": {"n": {"type": "integer"}, "next": again}}
    content = _contents(tmp_path, {"properties": {"root": again}, "definitions": {"tree": tree}})
    assert content.columns == {"root": "STRUCT<n:BIGINT,next:STRING>"}
    raw = b'{"root": {"n": 1, "next": {"n": 2, "next": {"n": 3}}}}'
    assert content.read(raw) == {"root": {"n": 1, "next": '{"n":2,"next":{"n":3}}'}}


def test_what_is_no_object_is_one_column(tmp_path: Path) -> None:
    """A message that is a list, a text or anything has the column ``payload``."""
    numbers = _contents(tmp_path, {"type": "array", "items": {"type": "integer"}})
    assert (numbers.columns, numbers.read(b"[1, 2]")) == ({"payload": "ARRAY<BIGINT>"}, {"payload": [1, 2]})
    text = _contents(tmp_path, {"type": "string"}, contentType="text/plain")
    assert (text.columns, text.read("é".encode())) == ({"payload": "STRING"}, {"payload": "é"})


def test_avro_has_columns_too(tmp_path: Path) -> None:
    """Records are structs, wherever their name is; what JSON has no type for is JSON."""
    fastavro = pytest.importorskip("fastavro")
    schema = {
        "type": "record", "name": "Flight", "namespace": "air", "fields": [
            {"name": "id", "type": "string"},
            {"name": "seats", "type": ["null", "int"]},
            {"name": "from", "type": {"type": "record", "name": "Port", "fields": [
                {"name": "code", "type": {"type": "enum", "name": "Code", "symbols": ["EDI", "GLA"]}}]}},
            {"name": "over", "type": {"type": "array", "items": "air.Port"}},
            {"name": "either", "type": ["int", "string"]},
            {"name": "raw", "type": {"type": "fixed", "name": "Two", "size": 2}},
            {"name": "notes", "type": {"type": "map", "values": "string"}},
            {"name": "back", "type": ["null", "air.Flight"]},
        ],
    }  # fmt: skip
    content = _contents(
        tmp_path, {"schemaFormat": "application/vnd.apache.avro;version=1.9.0", "schema": schema},
        contentType="avro/binary",
    )  # fmt: skip
    assert content.columns == {
        "id": "STRING", "seats": "BIGINT", "from": "STRUCT<code:STRING>",
        "over": "ARRAY<STRUCT<code:STRING>>", "either": "STRING", "raw": "STRING", "notes": "STRING",
        "back": "STRING",
    }  # fmt: skip
    flight = {"id": "f", "seats": 3, "from": {"code": "EDI"}, "over": [{"code": "GLA"}], "either": "x",
              "raw": b"ab", "notes": {"a": "b"}, "back": None}  # fmt: skip
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), flight)
    assert content.read(stream.getvalue()) == flight | {
        "either": '"x"', "raw": '"YWI="', "notes": '{"a":"b"}',
    }  # fmt: skip


def test_headers_are_a_column_where_a_channel_carries_any(tmp_path: Path) -> None:
    """Apart from a property of that name; null for a message that came without, as over a stream."""
    headers = {"type": "object", "properties": {"ce-id": {"type": "string"}, "stream": {"type": "integer"}}}
    payload = {"properties": {"headers": {"type": "boolean"}}}
    content = _contents(tmp_path, payload, _AMQP, headers=headers)
    assert content.columns == {"headers": "BOOLEAN", "headers_2": "STRUCT<ce_id:STRING,stream:BIGINT>"}
    text = b'{"x-sandbox-headers": {"ce-id": "1", "stream": 7, "more": 1}, "message": {"headers": true}}'
    assert content.read(text) == {"headers": True, "headers_2": {"ce_id": "1", "stream": 7}}
    assert content.read(b'{"headers": false}') == {"headers": False, "headers_2": None}
    assert "headers_2" not in _contents(tmp_path, payload, headers=headers).columns


def test_opaque_bytes_with_headers_have_a_table_of_those(tmp_path: Path) -> None:
    """Without headers there is nothing to look into."""
    headers = {"type": "object", "properties": {"n": {"type": "integer"}}}
    content = _contents(tmp_path, {}, _AMQP, headers=headers, contentType="image/png")
    assert content.columns == {"headers": "STRUCT<n:BIGINT>"}
    assert content.read(b'{"x-sandbox-headers": {"n": 1}, "base64": "/w=="}') == {"headers": {"n": 1}}
