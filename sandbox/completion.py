"""A message around a published header or body, which the specification's examples hold one by one."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbox.documents import kind_of
from schemas.envelope import serialise
from schemas.samples import Samples


def completed(raw: bytes, samples: Samples) -> bytes:
    """The bytes themselves, or around a header or a body alone a message with a fresh counterpart.

    The header or body stays byte for byte what it was.
    """
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return raw
    match kind_of(value):
        case "header":
            return _message(raw, serialise(_counterpart(samples, value.get("messageType"))["messageBody"]))
        case "body":
            return _message(serialise(_counterpart(samples, _type_of(value))["messageHeader"]), raw)
    return raw


def _message(header: bytes, body: bytes) -> bytes:
    return b'{"messageHeader":%b,"messageBody":%b}' % (header, body)


def _type_of(body: dict[str, Any]) -> str:
    if "packageUUID" in body:
        return "PreservationEvent"
    return "MetadataDelete" if body.keys() == {"objectUUID"} else "MetadataCreate"


def _counterpart(samples: Samples, message_type: object) -> dict[str, Any]:
    try:
        return samples.message(str(message_type))
    except ValueError:
        return samples.message("MetadataDelete")
