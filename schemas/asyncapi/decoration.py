"""What a refused message gets: an object around it, with the code and the reason, which can be taken off.

``{"x-sandbox-rejected": {"code", "why", "at", "machine", "address"}, "message": ...}``. The message is
embedded as it is where it is JSON, else as ``text``, or as ``base64`` where it is not UTF-8. An oversize one
is ``original``, its address, with its ``bytes`` and ``sha256``.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Final, NamedTuple

import msgspec

from schemas.contract import LONGEST_WHY, Code, Undecorated
from schemas.json_texts import is_json
from schemas.message_timestamps import timestamp

_NAME: Final = "x-sandbox-rejected"
MARK: Final = f'{{"{_NAME}":'.encode()
"""How every decorated message begins."""


class _Around(msgspec.Struct, omit_defaults=True):
    rejected: dict[str, Any] = msgspec.field(name=_NAME)
    message: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    text: str | None = None
    base64: str | None = None
    original: str | None = None
    bytes: int | None = None
    sha256: str | None = None


_decode: Final = msgspec.json.Decoder(_Around).decode


class Rejected(NamedTuple):
    """What was taken off: the message, its code and the reason; where it was kept whole, its address."""

    data: bytes
    code: str
    why: str
    address: str | None
    sha256: str | None


def decorate(
    raw: bytes,
    code: Code,
    description: str,
    *,
    now: float,
    machine_id: str = "sandbox",
    machine_address: str = "localhost",
    original: str | None = None,
) -> bytes:
    """Put the code and the reason around a message; see ``schemas.contract.Decorate``."""
    earlier = unwrap(raw)
    if earlier is not None:
        raw = earlier.data
    around = _Around(
        {
            "code": str(code),
            "why": (description or code.description)[:LONGEST_WHY],
            "at": timestamp(now),
            "machine": machine_id[:200],
            "address": machine_address[:200],
        }
    )
    if original is not None:
        around.original, around.bytes = original, len(raw)
        around.sha256 = hashlib.sha256(raw).hexdigest()
    elif is_json(raw) and raw == raw.strip():
        around.message = msgspec.Raw(raw)
    else:
        try:
            around.text = raw.decode()
        except UnicodeDecodeError:
            around.base64 = base64.b64encode(raw).decode("ascii")
    return msgspec.json.encode(around)


def unwrap(raw: bytes) -> Rejected | None:
    """Take the code and the reason off a message; None for one that has none."""
    if not raw.startswith(MARK):
        return None
    try:
        around = _decode(raw)
        if around.message is not msgspec.UNSET:
            data = bytes(around.message)
        elif around.text is not None:
            data = around.text.encode()
        elif around.base64 is not None:
            data = base64.b64decode(around.base64, validate=True)
        else:
            data = raw
        code, why = str(around.rejected["code"]), str(around.rejected.get("why", ""))
    except (msgspec.MsgspecError, ValueError, KeyError, RecursionError):
        return None
    if data == raw and around.original is None:
        return None
    return Rejected(data, code, why, around.original, around.sha256)


def undecorate(raw: bytes, /) -> Undecorated:
    """See ``schemas.contract.Contract.undecorate``."""
    found = unwrap(raw)
    if found is None:
        return Undecorated(raw)
    return Undecorated(found.data, found.why, address=found.address, sha256=found.sha256)


def redrive(raw: bytes, /, *, now: float) -> bytes:
    """The message without what was put around it: its own form has no room for a note of that."""
    del now
    return undecorate(raw).data
