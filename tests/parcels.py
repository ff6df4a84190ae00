"""A second contract, as unlike RDSS as can be: a message has no header, and no name for itself.

A message is a JSON object ``{"event": ..., "depot": ...}``. What identifies it is the partition key of its
record. It comes in one piece, never expires, and is refused with one of three codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from schemas.contract import Code, Contract, Part, Peek, Verdict, Violation
from schemas.fields import Field


class ParcelPeek(msgspec.Struct, frozen=True, gc=False):
    """What a message and its record say of it."""

    message_id: str | None = None
    message_type: str | None = None
    error_code: str | None = None
    depot: str | None = None
    published: str | None = None
    expires: str | None = None
    damaged: bool = False

    @property
    def part(self) -> Part | None:
        """None: every message is whole."""
        return None


class _Parcel(msgspec.Struct):
    event: str | None = None
    depot: str | None = None
    refused: str | None = None


class _ParcelCode(Code):
    """A code with what it says."""


def _code(name: str, description: str, queue: str) -> Code:
    code = _ParcelCode(name)
    code.description, code.queue = description, queue
    return code


class Parcels:
    """The contract."""

    name: Final = "parcels"
    media_type: Final = "application/json"
    max_bytes: Final = 2_000
    codes: Final[Mapping[str, Code]] = {
        name: _code(name, description, queue)
        for name, description, queue in (
            ("too-large", "The message is too large.", "error"),
            ("unreadable", "The message is no JSON object.", "invalid"),
            ("no-event", "The message names no event.", "invalid"),
        )
    }
    fields: Final = (
        Field("id", "message_id", "key", "identifier", "message_id", "id:*7"),
        Field(
            "type",
            "message_type",
            "event",
            "text",
            "message_type",
            "type:left",
            ("left", "came"),
            counted=True,
        ),
        Field("code", "code", "refused", "text", "error_code", "code:no*", tuple(codes), counted=True),
        Field("depot", "depot", "depot", "text", "depot", "depot:Leith", counted=True),
    )
    sequences: Final = None
    versions: Final = None

    def peek(self, raw: bytes, key: str = "", /) -> ParcelPeek:
        try:
            read = msgspec.json.decode(raw, type=_Parcel)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return ParcelPeek(key or None, damaged=True)
        return ParcelPeek(key or None, read.event, read.refused, read.depot)

    def identity(self, seen: Peek) -> str | None:
        return seen.message_id

    def judge(self, raw: bytes, *, now: float | None = None) -> Verdict:
        del now
        seen = self.peek(raw)
        if len(raw) > self.max_bytes:
            return _refuse(self.codes["too-large"], "size")
        if seen.damaged:
            return _refuse(self.codes["unreadable"], "json")
        return Verdict(True, None, ()) if seen.message_type else _refuse(self.codes["no-event"], "required")

    def decorate(self, raw: bytes, code: Code, description: str, *, now: float, **_: Any) -> bytes:
        del description, now
        return msgspec.json.encode({**msgspec.json.decode(raw), "refused": code})


def _refuse(code: Code, rule: str) -> Verdict:
    return Verdict(False, code, (Violation("", rule, code.description),))


PARCELS: Final[Contract] = Parcels()
