"""The two protocols of Kinesis, JSON 1.1 and CBOR 1.1: they read requests and write responses.

Decoded requests and responses have one form: blobs are bytes, timestamps are seconds since the epoch as
floats, and a member without a value is absent.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from math import isfinite
from typing import Any, Protocol, TypeAlias

import cbor2
import msgspec

from emulator.kinesis import blobs
from emulator.kinesis.errors import KinesisError
from emulator.listeners.aws.error_bodies import CBOR_1_1, JSON_1_1
from emulator.listeners.aws.service_model import kinesis_model

_Convert: TypeAlias = Callable[[Any], Any]

_INTEGERS = ("integer", "long")
_NUMBERS = ("double", "float", "timestamp")
_EPOCH_TAG = 1
_LATEST = 253_402_300_799
"""The last second of the year 9999."""


class WireProtocol(Protocol):
    """Reads requests, and writes responses and errors."""

    content_type: bytes

    def read(self, body: bytes, shape: str) -> dict[str, Any]:
        """Read a request of ``shape``. Raises KinesisError SerializationException for another body."""

    def write(self, response: dict[str, Any], shape: str, /) -> bytes:
        """Write the body of a response of ``shape``."""

    def error(self, fields: dict[str, Any]) -> bytes:
        """Write the body of an error."""


class Json11:
    """``application/x-amz-json-1.1``: blobs in base64, timestamps in seconds."""

    content_type = JSON_1_1

    def read(self, body: bytes, shape: str) -> dict[str, Any]:
        try:
            parsed = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise KinesisError("SerializationException", "") from None
        return _request(parsed, shape, _json_blob)

    def write(self, response: dict[str, Any], _shape: str, /) -> bytes:
        return msgspec.json.encode(response)

    def error(self, fields: dict[str, Any]) -> bytes:
        return msgspec.json.encode(fields)


class Cbor11:
    """``application/x-amz-cbor-1.1``: blobs as byte strings, timestamps as tag 1 with milliseconds."""

    content_type = CBOR_1_1

    def read(self, body: bytes, shape: str) -> dict[str, Any]:
        try:
            parsed = cbor2.loads(body, semantic_decoders={_EPOCH_TAG: _epoch_seconds})
        except (cbor2.CBORError, TypeError, ValueError, RecursionError):
            raise KinesisError("SerializationException", "") from None
        return _request(parsed, shape, _cbor_blob)

    def write(self, response: dict[str, Any], shape: str, /) -> bytes:
        return cbor2.dumps(_tagged(response, shape))

    def error(self, fields: dict[str, Any]) -> bytes:
        return cbor2.dumps(fields)


def _epoch_seconds(millis: Any, _immutable: bool) -> float:
    return float(millis) / 1000


def protocol_of(content_type: bytes) -> WireProtocol | None:
    """The protocol for a request's content type; None when Kinesis does not support it."""
    kind = content_type.partition(b";")[0].strip().lower()
    if kind in (JSON_1_1, b"application/json"):
        return Json11()
    return Cbor11() if kind == CBOR_1_1 else None


def _refused(why: str) -> KinesisError:
    return KinesisError("SerializationException", why)


def _request(parsed: Any, shape: str, blob: _Convert) -> dict[str, Any]:
    if not isinstance(parsed, dict):
        raise _refused("")
    request: dict[str, Any] = _read(parsed, shape, blob)
    return request


def _read(value: Any, shape_name: str, blob: _Convert) -> Any:
    """Convert ``value`` to the model's shape. Members that the model does not know are dropped."""
    shape = kinesis_model().shapes[shape_name]
    match shape.kind:
        case "structure":
            given = _typed(value, dict, "structure")
            return {
                name: _read(given[name], member, blob)
                for name, member in shape.members.items()
                if given.get(name) is not None
            }
        case "list":
            return [
                _read(item, shape.member, blob) for item in _typed(value, list, "list") if item is not None
            ]
        case "map":
            entries = _typed(value, dict, "map")
            # In CBOR a key may be anything.
            return {
                _read(key, shape.key, blob): _read(item, shape.value, blob)
                for key, item in entries.items()
                if item is not None
            }
        case "blob":
            return blob(value)
        case kind:
            return _read_scalar(value, kind)


def _typed(value: Any, kind: type, word: str) -> Any:
    if isinstance(value, kind):
        return value
    _refuse_collection(value)
    raise _refused("Expected null" if word == "structure" else f"Expected {word} or null")


def _refuse_collection(value: Any) -> None:
    if isinstance(value, list):
        raise _refused("Start of list found where not expected")
    if isinstance(value, dict):
        raise _refused("Start of structure or map found where not expected.")


def _read_scalar(value: Any, kind: str) -> Any:
    _refuse_collection(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # NaN and infinity are neither: CBOR can have both, and JSON a number too big for a float.
    if kind in _INTEGERS and is_number and (isinstance(value, int) or isfinite(value)):
        return int(value)
    if kind in _NUMBERS and is_number and abs(value) <= _LATEST:
        return float(value)
    if kind == "timestamp" and isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            raise _refused("STRING_VALUE can not be converted to milliseconds since epoch") from None
    if (kind == "boolean" and isinstance(value, bool)) or (kind == "string" and isinstance(value, str)):
        return value
    raise _refused(f"{_token(value)} can not be converted to {_java_type(kind)}")


def _token(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE_VALUE" if value else "FALSE_VALUE"
    if isinstance(value, int):
        return "NUMBER_VALUE"
    return "DECIMAL_VALUE" if isinstance(value, float) else "STRING_VALUE"


def _java_type(kind: str) -> str:
    return {
        "string": "a String",
        "boolean": "a Boolean",
        "integer": "an Integer",
        "long": "a Long",
        "timestamp": "milliseconds since epoch",
    }.get(kind, "a Double")


def _json_blob(value: Any) -> bytes:
    if not isinstance(value, str):
        _refuse_collection(value)
        raise _refused(f"{_token(value)} can not be converted to a Blob")
    try:
        return blobs.decode(value)
    except blobs.NotBase64Error as error:
        raise _refused(f"'{value}' can not be converted to a Blob: {error}") from None


def _cbor_blob(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return _json_blob(value)


def _tagged(value: Any, shape_name: str) -> Any:
    """``value`` with its timestamps as CBOR tags. All other values are written as they are."""
    shape = kinesis_model().shapes.get(shape_name)
    if shape is None or value is None:
        return value
    match shape.kind:
        case "structure":
            return {name: _tagged(item, shape.members.get(name, "")) for name, item in value.items()}
        case "list":
            return [_tagged(item, shape.member) for item in value]
        case "map":
            return {key: _tagged(item, shape.value) for key, item in value.items()}
        case "timestamp":
            return cbor2.CBORTag(_EPOCH_TAG, round(value * 1000))
        case _:
            return value
