"""The typed envelope of a message: header, timings, sequence, history, and the body as it was written.

``read`` is for messages that were found valid; ``peek`` is for any bytes at all.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from schemas import SPECIFICATION_VERSION
from schemas.decoration import decorate
from schemas.peek import Peek, peek

__all__ = [
    "MAX_MESSAGE_BYTES",
    "SPECIFICATION_VERSION",
    "Envelope",
    "Header",
    "HistoryEntry",
    "Peek",
    "Sequence",
    "Timings",
    "decorate",
    "oversize",
    "peek",
    "read",
    "serialise",
    "write",
]

MAX_MESSAGE_BYTES: Final = 1_000_000
"""The specification's 1000KB, in bytes of UTF-8 of the whole serialised message."""


class Timings(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """``messageTimings``: RFC 3339 texts as they were written."""

    published_timestamp: str
    expiration_timestamp: str | None = None


class Sequence(msgspec.Struct, frozen=True):
    """``messageSequence``: where this message stands, 1 of 1 when it is whole."""

    sequence: str
    position: int
    total: int


class HistoryEntry(msgspec.Struct, frozen=True, rename="camel"):
    """One entry of ``messageHistory``: a machine that the message passed."""

    machine_id: str
    machine_address: str
    timestamp: str


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """``messageHeader`` ("Message Header"); optional fields are None, an absent history is empty."""

    message_id: str
    correlation_id: str | None = None
    message_class: str
    message_type: str
    return_address: str | None = None
    timings: Timings = msgspec.field(name="messageTimings")
    sequence: Sequence = msgspec.field(name="messageSequence")
    history: tuple[HistoryEntry, ...] = msgspec.field(name="messageHistory", default=())
    version: str
    error_code: str | None = None
    error_description: str | None = None
    generator: str
    tenant_jisc_id: int = msgspec.field(name="tenantJiscID")


class Envelope(msgspec.Struct, frozen=True):
    """A message: its header typed, its body the very bytes that came."""

    header: Header = msgspec.field(name="messageHeader")
    body: msgspec.Raw = msgspec.field(name="messageBody")


_ENVELOPES: Final = msgspec.json.Decoder(Envelope)
_ENCODER: Final = msgspec.json.Encoder()
_PARTS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OBJECTS: Final = msgspec.json.Decoder(dict[str, Any])


def read(raw: bytes) -> Envelope:
    """The envelope of a valid message.

    Raises ``msgspec.DecodeError`` (of which ``ValidationError`` is one) where the
    bytes are not such a message; run ``validation.judge`` first to know why.
    """
    try:
        return _ENVELOPES.decode(raw)
    except msgspec.ValidationError:
        # The schema calls 1.0 an integer, as JSON Schema does.
        parts = _PARTS.decode(raw)
        header = _with_integers(_OBJECTS.decode(parts.get("messageHeader", b"{}")))
        return Envelope(msgspec.convert(header, Header), parts.get("messageBody", msgspec.Raw(b"null")))


def _with_integers(header: dict[str, Any]) -> dict[str, Any]:
    sequence = header.get("messageSequence")
    for holder, names in ((header, ("tenantJiscID",)), (sequence, ("position", "total"))):
        if isinstance(holder, dict):
            for name in names:
                holder[name] = _integer(holder.get(name))
    return header


def _integer(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def write(envelope: Envelope) -> bytes:
    """The message's bytes; the body is written as it was read."""
    return _ENCODER.encode(envelope)


def serialise(message: dict[str, Any]) -> bytes:
    """Compact JSON in UTF-8, in the order of the fields given.

    Raises ``UnicodeEncodeError`` for text with half a surrogate pair, which UTF-8 cannot hold.
    """
    return _ENCODER.encode(message)


def oversize(raw: bytes) -> bool:
    """Whether a serialised message exceeds what the specification permits ("Message Structure")."""
    return len(raw) > MAX_MESSAGE_BYTES
