"""Changes of messages in transit: one that causes an error code, and one that makes a message larger."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import msgspec

from schemas.contract import Code
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.sample_errors import SPOILS, malformed

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random  # noqa: TID251 -- the type of what is handed in
_Message = dict[str, Any]
_HEADER: Final = "messageHeader"
_BODY: Final = "messageBody"
_TRIES: Final = 20
_PADDING: Final = "x"
_TEXTS: Final = ("descriptionValue", "packageDescription", "preservationEventDetail", "objectTitle")
"""The fields of a body that may have any length, the most usual first."""


def spoil(raw: bytes, code: Code, draws: Random) -> bytes | None:
    """Change a whole message so that it causes ``code``; None where it cannot apply."""
    error_code, message = ErrorCode[code], _parse_whole(raw)
    if message is None:
        return None
    if error_code is ErrorCode.GENERR007:
        return _malform(message, draws)
    if error_code in SPOILS:
        return _spoil(message, error_code, draws)
    return _MUTATIONS[error_code](message, draws)


def _parse_whole(data: bytes) -> _Message | None:
    """Parse a message whose header and body are objects; None for others, as for a fragment of a sequence."""
    try:
        message = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(message, dict) and all(
        isinstance(message.get(part), dict) for part in (_HEADER, _BODY)
    )
    return message if whole else None


def _malform(message: _Message, draws: Random) -> bytes | None:
    """Break the JSON. Some ways need a title to break; a way that changes nothing is drawn again."""
    whole = serialise(message)
    tried = (malformed(message, draws) for _ in range(_TRIES))
    return next((broken for broken in tried if broken != whole), None)


def _spoil(message: _Message, code: ErrorCode, draws: Random) -> bytes | None:
    """Spoil the message in the first of the drawn ways that applies to its type; None when none does."""
    for way in draws.sample(SPOILS[code], len(SPOILS[code])):
        victim = deepcopy(message)
        try:
            way(victim)
        except (KeyError, IndexError, TypeError, AttributeError):
            continue
        return serialise(victim)
    return None


def _name_unknown_object(message_type: str) -> Callable[[_Message, Random], bytes | None]:
    def mutate(message: _Message, draws: Random) -> bytes | None:
        if message[_HEADER].get("messageType") != message_type or "objectUUID" not in message[_BODY]:
            return None
        message[_BODY]["objectUUID"] = str(UUID(int=draws.getrandbits(128), version=4))
        return serialise(message)

    return mutate


def _break_checksum(message: _Message, _draws: Random) -> bytes | None:
    for file in message[_BODY].get("objectFile", ()):
        for checksum in file.get("fileChecksum", ()):
            value = str(checksum.get("checksumValue", ""))
            if value:
                checksum["checksumValue"] = value[::-1] if value[::-1] != value else f"{value}0"
                return serialise(message)
    return None


_MUTATIONS: Final[dict[ErrorCode, Callable[[_Message, Random], bytes | None]]] = {
    ErrorCode.APPERRMET001: _name_unknown_object("MetadataUpdate"),
    ErrorCode.APPERRMET002: _name_unknown_object("MetadataDelete"),
    ErrorCode.APPERRMET003: _name_unknown_object("MetadataRead"),
    ErrorCode.APPERRMET004: _break_checksum,
}


def grow(raw: bytes, size: int) -> bytes | None:
    """Pad a text in the message's body, so that the message has ``size`` bytes.

    Returns None for a fragment of a sequence, whose body is a piece of JSON. A payload that is no RDSS
    message gets spaces at its end.
    """
    try:
        message = msgspec.json.decode(raw)
        header, body = message[_HEADER], message[_BODY]
    except (ValueError, KeyError, TypeError, RecursionError):
        return raw + b" " * (size - len(raw))
    if isinstance(body, str):
        return None
    holder, name = _find_text(body) or (header, "generator")
    holder[name] = str(holder.get(name, ""))
    missing = size - len(serialise(message))
    holder[name] += _PADDING * missing
    return serialise(message) if missing > 0 else None


def _find_text(body: Any) -> tuple[dict[str, Any], str] | None:
    """The object and the field of a text that may have any length: a description, else a title."""
    for field in _TEXTS:
        if found := _find_holder(body, field):
            return found, field
    return None


def _find_holder(node: Any, name: str) -> dict[str, Any] | None:
    if isinstance(node, dict):
        if isinstance(node.get(name), str):
            return node
        children = list(node.values())
    else:
        children = node if isinstance(node, list) else []
    return next((found for child in children if (found := _find_holder(child, name))), None)


class RdssChanges:
    """See ``schemas.contract.Changes``."""

    codes: Final[tuple[Code, ...]] = (*SPOILS, ErrorCode.GENERR007, *_MUTATIONS)
    spoil = staticmethod(spoil)
    grow = staticmethod(grow)
