"""The contract as an AsyncAPI document, for tools that read such documents.

What the document cannot say is left to ``verdicts``: that the position of a part lies within its total, that
a field at the top is not given twice, and which of several codes a message of a wrong form has.
"""

from __future__ import annotations

from typing import Any, Final

from schemas.rdss import MAX_MESSAGE_BYTES, SPECIFICATION_VERSION, bodies
from schemas.rdss.catalogue import Schema, definition, names, reference, terms
from schemas.rdss.error_codes import ErrorCode

_HEADER: Final = "$message.payload#/messageHeader"
_FORMAT: Final = "application/schema+json;version=draft-2020-12"
_CODES: Final = {
    "oversize": ErrorCode.GENERR006,
    "malformed": ErrorCode.GENERR007,
    "unknown-type": ErrorCode.GENERR002,
    "invalid": ErrorCode.GENERR001,
    "expired": ErrorCode.GENERR003,
    "failed": ErrorCode.GENERR006,
    "not-undone": ErrorCode.GENERR008,
    "unsent": ErrorCode.GENERR005,
    "unexplained": ErrorCode.GENERR009,
    "misaddressed": ErrorCode.GENERR004,
}


def write_document() -> dict[str, Any]:
    """The document, of version 3.0.0: a channel for messages, and one for each queue of what is refused."""
    kinds = terms("MessageType")
    messages = {kind: {"$ref": f"#/components/messages/{kind}"} for kind in kinds}
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "rdss", "version": SPECIFICATION_VERSION},
        "defaultContentType": "application/json",
        "x-sandbox": {
            "id": f"{_HEADER}/messageId",
            "type": f"{_HEADER}/messageType",
            "published": f"{_HEADER}/messageTimings/publishedTimestamp",
            "expires": f"{_HEADER}/messageTimings/expirationTimestamp",
            "part": {name: f"{_HEADER}/messageSequence/{name}" for name in ("sequence", "position", "total")},
            "maxBytes": MAX_MESSAGE_BYTES,
            "reject": "invalid",
            "codes": {
                reason: {"code": str(code), "description": code.description, "channel": str(code.queue)}
                for reason, code in _CODES.items()
            },
        },
        "channels": {
            "input": {"address": "input", "messages": messages},
            **{queue: {"address": queue} for queue in sorted({str(code.queue) for code in ErrorCode})},
        },
        "components": {
            "messages": {
                kind: {"payload": {"schemaFormat": _FORMAT, "schema": _write_message(kind)}} for kind in kinds
            },
            "schemas": {name: _write_definition(name) for name in names()},
        },
    }


def _write_definition(name: str) -> Schema:
    ref = reference(name)
    written: Schema = _point(definition(ref), ref.partition("#")[0])
    return written


def _point(value: Any, urn: str) -> Any:
    """A definition with its references to where the document has what they name."""
    if isinstance(value, list):
        return [_point(each, urn) for each in value]
    if not isinstance(value, dict):
        return value
    made = {name: _point(below, urn) for name, below in value.items()}
    if isinstance(value.get("$ref"), str):
        file, _, name = value["$ref"].partition("#/$defs/")
        made["$ref"] = _refer(f"{(file or urn).rpartition(':')[2]}.{name}")["$ref"]
    return made


def _refer(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _write_message(kind: str) -> Schema:
    """A message of one type: its header, and the body that its type and its place in a sequence call for."""
    header = {
        "messageType": {"const": kind},
        "errorCode": {"enum": [str(code) for code in ErrorCode]},
        "messageSequence": {"properties": {"total": {"maximum": bodies.MOST_PARTS}}},
    }
    return {
        "type": "object",
        "required": ["messageHeader", "messageBody"],
        "additionalProperties": False,
        "properties": {
            "messageHeader": {"allOf": [_refer("header.Header"), {"properties": header}]},
            "messageBody": {},
        },
        "if": {
            "properties": {
                "messageHeader": _in_header("messageSequence", {"properties": {"total": {"minimum": 2}}})
            }
        },
        "then": {"properties": {"messageBody": {"type": "string"}}},
        "else": _write_whole(kind),
    }


def _in_header(name: str, schema: Schema) -> Schema:
    return {"properties": {name: schema}}


def _write_whole(kind: str) -> Schema:
    if kind in ("MetadataCreate", "MetadataUpdate"):
        return {"properties": {"messageBody": _write_object()}}
    if kind == "MetadataRead":
        answer = {"properties": {"messageHeader": _in_header("messageClass", {"const": "Document"})}}
        return {
            "if": answer,
            "then": {"properties": {"messageBody": _write_object()}},
            "else": {"properties": {"messageBody": _refer(bodies.REFERENCE)}},
        }
    body = bodies.REFERENCE if kind == "MetadataDelete" else bodies.PACKAGE
    return {"properties": {"messageBody": _refer(body)}}


def _write_object() -> Schema:
    """An object: one of the resource types that have a definition of their own, or any other."""
    kinds = [
        {
            "if": {"properties": {"objectResourceType": {"const": kind}}, "required": ["objectResourceType"]},
            "then": _refer(name),
        }
        for kind, name in bodies.KINDS.items()
    ]
    other = {
        "properties": {"objectResourceType": {"enum": list(bodies.KINDS)}},
        "required": ["objectResourceType"],
    }
    return {"allOf": [*kinds, {"if": {"not": other}, "then": _refer(bodies.ANY_OBJECT)}]}
