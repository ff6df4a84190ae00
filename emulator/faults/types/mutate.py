"""A message that is changed so that it causes one error code."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

import msgspec

from emulator.faults.fault import CARRIERS, Attribute, Direction, Done, FaultType, Hit, Phase
from emulator.rng import Draws
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.sample_errors import SPOILS, malformed

_Message = dict[str, Any]
_HEADER: Final = "messageHeader"
_BODY: Final = "messageBody"
_TRIES: Final = 20


def inject(hit: Hit) -> Done | None:
    code = ErrorCode[hit.attributes["code"]]
    message = _parse_whole(hit.item.data)
    if message is None:
        return None
    if code is ErrorCode.GENERR007:
        changed = _malform(message, hit.draws)
    elif code in SPOILS:
        changed = _spoil(message, code, hit.draws)
    else:
        changed = _MUTATIONS[code](message, hit.draws)
    if changed is None:
        return None
    hit.item.data = changed
    return Done(f"made bad so as to cause {code}: {code.description}", {"code": code.value})


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


def _malform(message: _Message, draws: Draws) -> bytes | None:
    """Break the JSON. Some ways need a title to break; a way that changes nothing is drawn again."""
    whole = serialise(message)
    tried = (malformed(message, draws) for _ in range(_TRIES))
    return next((broken for broken in tried if broken != whole), None)


def _spoil(message: _Message, code: ErrorCode, draws: Draws) -> bytes | None:
    """Spoil the message in the first of the drawn ways that applies to its type; None when none does."""
    for spoil in draws.sample(SPOILS[code], len(SPOILS[code])):
        victim = deepcopy(message)
        try:
            spoil(victim)
        except (KeyError, IndexError, TypeError, AttributeError):
            continue
        return serialise(victim)
    return None


def _name_unknown_object(message_type: str) -> Callable[[_Message, Draws], bytes | None]:
    def mutate(message: _Message, draws: Draws) -> bytes | None:
        if message[_HEADER].get("messageType") != message_type or "objectUUID" not in message[_BODY]:
            return None
        message[_BODY]["objectUUID"] = draws.uuid4()
        return serialise(message)

    return mutate


def _break_checksum(message: _Message, _draws: Draws) -> bytes | None:
    for file in message[_BODY].get("objectFile", ()):
        for checksum in file.get("fileChecksum", ()):
            value = str(checksum.get("checksumValue", ""))
            if value:
                checksum["checksumValue"] = value[::-1] if value[::-1] != value else f"{value}0"
                return serialise(message)
    return None


_MUTATIONS: Final[dict[ErrorCode, Callable[[_Message, Draws], bytes | None]]] = {
    ErrorCode.APPERRMET001: _name_unknown_object("MetadataUpdate"),
    ErrorCode.APPERRMET002: _name_unknown_object("MetadataDelete"),
    ErrorCode.APPERRMET003: _name_unknown_object("MetadataRead"),
    ErrorCode.APPERRMET004: _break_checksum,
}

TYPE = FaultType(
    "mutate",
    "A message is changed so that it causes an error code. Fragments of a sequence are spared, and so are "
    "messages to which the code cannot apply.",
    Phase.CHANGE,
    (Direction.PUBLISH, Direction.DELIVER),
    inject,
    (
        Attribute(
            "code",
            "choice",
            ErrorCode.GENERR001.value,
            "the error code that it causes",
            choices=tuple(sorted(code.value for code in (*SPOILS, *_MUTATIONS, ErrorCode.GENERR007))),
        ),
    ),
    kinds=CARRIERS,
)
