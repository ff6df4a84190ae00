"""A message made bad in the way that one error code stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from emulator.clock import timestamp
from emulator.faults.fault import Attribute, Direction, Done, FaultType, Hit, Phase
from emulator.rng import Draws
from schemas.envelope import serialise
from schemas.error_codes import ErrorCode

_Message = dict[str, Any]
_HEADER: Final = "messageHeader"
_BODY: Final = "messageBody"
_EXPIRED_SECONDS: Final = 60.0


def inject(hit: Hit) -> Done | None:
    code = ErrorCode[hit.attributes["code"]]
    if code is ErrorCode.GENERR007:
        changed, did = _cut(hit.item.data)
    else:
        message = _parsed(hit.item.data)
        told = _MUTATIONS[code](message, hit) if message else None
        if message is None or told is None:
            return None
        changed, did = serialise(message), told
    hit.item.data = changed
    return Done(f"{code}: {did}", {"code": code.value})


def _parsed(data: bytes) -> _Message | None:
    """The message, where it has a header and a body of its own; a fragment's body is a piece of another's."""
    try:
        message = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    whole = isinstance(message, dict) and all(
        isinstance(message.get(part), dict) for part in (_HEADER, _BODY)
    )
    return message if whole else None


def _cut(data: bytes) -> tuple[bytes, str]:
    """Without its last brace, JSON does not end."""
    return data.rstrip()[:-1], "the last brace is missing"


def _unexpected_body(message: _Message, hit: Hit) -> str | None:
    names = [
        name
        for name in message[_BODY]
        if name in {"objectTitle", "objectUUID", "packageUUID", "objectRights"}
    ]
    if not names:
        return None
    name = hit.draws.choice(sorted(names))
    del message[_BODY][name]
    return f"{name} is missing from the body"


def _unsupported_type(message: _Message, _hit: Hit) -> str:
    message[_HEADER]["messageType"] = "MetadataArchive"
    return "messageType is MetadataArchive, which nobody supports"


def _expired(message: _Message, hit: Hit) -> str:
    then = timestamp(hit.now - _EXPIRED_SECONDS)
    message[_HEADER].setdefault("messageTimings", {})["expirationTimestamp"] = then
    return f"expired at {then}"


def _invalid_header(message: _Message, hit: Hit) -> str | None:
    names = [
        name for name in ("generator", "messageClass", "version", "tenantJiscID") if name in message[_HEADER]
    ]
    if not names:
        return None
    name = hit.draws.choice(names)
    del message[_HEADER][name]
    return f"{name} is missing from the header"


def _invalid_uuid(message: _Message, hit: Hit) -> str:
    """The correlation id, so that the message can still be followed by its own id."""
    value = _unlike_uuid(hit.draws)
    message[_HEADER]["correlationId"] = value
    return f"correlationId is {value}"


def _unlike_uuid(draws: Draws) -> str:
    uuid = draws.uuid4()
    return f"{uuid[:14]}0{uuid[15:]}"


def _unknown_object(*types: str) -> Callable[[_Message, Hit], str | None]:
    def mutate(message: _Message, hit: Hit) -> str | None:
        if message[_HEADER].get("messageType") not in types or "objectUUID" not in message[_BODY]:
            return None
        message[_BODY]["objectUUID"] = hit.draws.uuid4()
        return f"objectUUID is {message[_BODY]['objectUUID']}, which nobody knows"

    return mutate


def _wrong_checksum(message: _Message, _hit: Hit) -> str | None:
    for file in message[_BODY].get("objectFile", ()):
        for checksum in file.get("fileChecksum", ()):
            value = str(checksum.get("checksumValue", ""))
            if value:
                checksum["checksumValue"] = value[::-1] if value[::-1] != value else f"{value}0"
                return "a file's checksum is not that of the file"
    return None


_MUTATIONS: Final[dict[ErrorCode, Callable[[_Message, Hit], str | None]]] = {
    ErrorCode.GENERR001: _unexpected_body,
    ErrorCode.GENERR002: _unsupported_type,
    ErrorCode.GENERR003: _expired,
    ErrorCode.GENERR004: _invalid_header,
    ErrorCode.GENERR010: _invalid_uuid,
    ErrorCode.APPERRMET001: _unknown_object("MetadataUpdate"),
    ErrorCode.APPERRMET002: _unknown_object("MetadataDelete"),
    ErrorCode.APPERRMET003: _unknown_object("MetadataRead"),
    ErrorCode.APPERRMET004: _wrong_checksum,
}

TYPE = FaultType(
    "mutate",
    "A message is made bad in the way that an error code stands for. Fragments of a sequence are spared, but "
    "for GENERR007; so are messages that have not what the code is about.",
    Phase.CHANGE,
    (Direction.PUBLISH, Direction.DELIVER),
    inject,
    (
        Attribute(
            "code",
            "choice",
            ErrorCode.GENERR001.value,
            "the error code that it shall cause",
            choices=tuple(sorted(code.value for code in (*_MUTATIONS, ErrorCode.GENERR007))),
        ),
    ),
)
