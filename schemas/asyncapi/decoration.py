"""What a refused message gets: an object around it, with the code and the reason, which can be taken off.

``{"x-sandbox-rejected": {"code", "why", "at", "machine", "address"}, "message": ...}``. In place of an
oversize message is ``original``, its address, with its ``bytes`` and ``sha256``.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from schemas.asyncapi.around import Around, embed, read_around
from schemas.contract import LONGEST_WHY, Code, Undecorated
from schemas.message_timestamps import timestamp


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
    around = Around(
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
    else:
        embed(around, raw)
    return msgspec.json.encode(around)


def unwrap(raw: bytes) -> Rejected | None:
    """Take the code and the reason off a message; None for one that has none."""
    found = read_around(raw)
    if found is None:
        return None
    around, data = found
    if around.rejected is None or "code" not in around.rejected or (data is None and around.original is None):
        return None
    code, why = str(around.rejected["code"]), str(around.rejected.get("why", ""))
    return Rejected(raw if data is None else data, code, why, around.original, around.sha256)


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
