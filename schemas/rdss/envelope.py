"""The typed envelope of a message: header, timings, sequence, history, and the body as it was written.

``read`` needs a valid message; ``peek`` takes any bytes.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from schemas.rdss import MAX_MESSAGE_BYTES


class Timings(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """``messageTimings``: RFC 3339 texts as written."""

    published_timestamp: str
    expiration_timestamp: str | None = None


class Sequence(msgspec.Struct, frozen=True):
    """``messageSequence``: the position of this message in its sequence, 1 of 1 for a whole message."""

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
    """A message with a typed header and the body's bytes as received."""

    header: Header = msgspec.field(name="messageHeader")
    body: msgspec.Raw = msgspec.field(name="messageBody")


_ENVELOPES: Final = msgspec.json.Decoder(Envelope)
_ENCODER: Final = msgspec.json.Encoder()
_PARTS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OBJECTS: Final = msgspec.json.Decoder(dict[str, Any])


def read(raw: bytes) -> Envelope:
    """Decode a valid message.

    Raises ``msgspec.DecodeError``, or its subclass ``ValidationError``, for other
    bytes; ``validation.judge`` gives the reasons.
    """
    try:
        return _ENVELOPES.decode(raw)
    except msgspec.ValidationError:
        # JSON Schema accepts 1.0 as an integer, msgspec does not.
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
    """Encode the message; the body's bytes stay as they were read."""
    return _ENCODER.encode(envelope)


def serialise(message: dict[str, Any]) -> bytes:
    """Encode a message as compact JSON in UTF-8; the fields keep their order.

    Raises ``UnicodeEncodeError`` for a lone surrogate, which UTF-8 cannot hold.
    """
    return _ENCODER.encode(message)


def oversize(raw: bytes) -> bool:
    """Whether a serialised message is larger than the specification permits ("Message Structure")."""
    return len(raw) > MAX_MESSAGE_BYTES
