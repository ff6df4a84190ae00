"""A fast look at a message's header for indexes, routing and deduplication; it never fails."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from schemas import contract
from schemas.contract import Part


class Peek(msgspec.Struct, frozen=True, gc=False):
    """The header fields that routing needs; None for a field that could not be read.

    ``published`` and ``expires`` are texts as written. ``damaged`` means that the header
    is not JSON and the fields were searched in the text. The body is not read, so a
    message may still be invalid: record it as received only after ``validation.judge``.
    """

    message_id: str | None = None
    message_type: str | None = None
    message_class: str | None = None
    sequence: str | None = None
    position: int | None = None
    total: int | None = None
    error_code: str | None = None
    tenant: int | None = None
    version: str | None = None
    correlation_id: str | None = None
    published: str | None = None
    expires: str | None = None
    damaged: bool = False

    @property
    def part(self) -> Part | None:
        """The place of a part in its sequence; None for a whole message, and where it cannot be read."""
        total = self.total
        if total is None or total <= 1:
            return None  # as nearly all are
        sequence, position = self.sequence, self.position
        if sequence is None or position is None or self.damaged:
            return None
        return Part(sequence, position, total)


class _Timings(msgspec.Struct, rename="camel", frozen=True, gc=False):
    published_timestamp: str | None = None
    expiration_timestamp: str | None = None


class _PeekedSequence(msgspec.Struct, frozen=True, gc=False):
    sequence: str | None = None
    position: int | None = None
    total: int | None = None


class _Header(msgspec.Struct, rename="camel"):
    message_id: str | None = None
    correlation_id: str | None = None
    message_class: str | None = None
    message_type: str | None = None
    message_timings: _Timings = _Timings()
    message_sequence: _PeekedSequence = _PeekedSequence()
    version: str | None = None
    error_code: str | None = None
    tenant: int | None = msgspec.field(default=None, name="tenantJiscID")


class _PeekedMessage(msgspec.Struct):
    header: _Header = msgspec.field(name="messageHeader")


class _Addressed(msgspec.Struct):
    return_address: str | None = msgspec.field(default=None, name="returnAddress")


class _PeekedRequest(msgspec.Struct):
    header: _Addressed = msgspec.field(name="messageHeader")


_decode_request: Final = msgspec.json.Decoder(_PeekedRequest).decode
_decode_header: Final = msgspec.json.Decoder(_Header).decode
_decode: Final = msgspec.json.Decoder(_PeekedMessage).decode
_decode_anything: Final = msgspec.json.Decoder().decode
_HEADER_FIRST: Final = b'{"messageHeader":'
_HEADER_FIRST_LENGTH: Final = len(_HEADER_FIRST)


def peek(raw: bytes, _key: str = "") -> Peek:
    """Read the header fields of any bytes; never raises.

    Where the header is given twice, the first one is read; ``validation.judge`` refuses such a message.
    """
    # Fastest first: only the header's bytes, then the whole message, then whatever can be found.
    try:
        header = _decode_header(leading_header(raw))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            header = _decode(raw).header
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _peek_slowly(raw)
    timings, place = header.message_timings, header.message_sequence
    return Peek(
        header.message_id,
        header.message_type,
        header.message_class,
        place.sequence,
        place.position,
        place.total,
        header.error_code,
        header.tenant,
        header.version,
        header.correlation_id,
        timings.published_timestamp,
        timings.expiration_timestamp,
    )


def identity(peek: contract.Peek) -> str | None:
    """The deduplication key of a message: its messageId, or sequence and position for a part of a sequence.

    The parts of a message may share its messageId, as in the specification's own code
    ("Multi-Message Sequence"). None where neither can be read.
    """
    part = peek.part
    return peek.message_id if part is None else f"{part.sequence}/{part.position}"


def return_address(raw: bytes) -> str | None:
    """The returnAddress of a request; None where it is missing or cannot be read."""
    try:
        return _decode_request(raw).header.return_address
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def leading_header(raw: bytes) -> bytes:
    """The bytes of the header, if the header comes first and the body follows, as in every known client.

    For any other layout, the result is bytes that do not decode as a JSON object.
    """
    if not raw.startswith(_HEADER_FIRST):
        return b""
    end = raw.find(b'"messageBody"') - 1
    # The comma must end the header. In any other layout, the bytes cut out here do not decode.
    if raw[end : end + 1] == b" ":
        end -= 1
    return raw[_HEADER_FIRST_LENGTH:end] if raw[end : end + 1] == b"," else b""


def _peek_slowly(raw: bytes) -> Peek:
    """Read the fields that have the right type; in bytes that are not JSON, search them in the text."""
    try:
        message = _decode_anything(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _pick(raw)
    header = message.get("messageHeader") if isinstance(message, dict) else None
    if not isinstance(header, dict):
        return Peek(damaged=True)
    timings, place = _object(header, "messageTimings"), _object(header, "messageSequence")
    return Peek(
        message_id=_text(header, "messageId"),
        message_type=_text(header, "messageType"),
        message_class=_text(header, "messageClass"),
        sequence=_text(place, "sequence"),
        position=_whole(place, "position"),
        total=_whole(place, "total"),
        error_code=_text(header, "errorCode"),
        tenant=_whole(header, "tenantJiscID"),
        version=_text(header, "version"),
        correlation_id=_text(header, "correlationId"),
        published=_text(timings, "publishedTimestamp"),
        expires=_text(timings, "expirationTimestamp"),
    )


def _object(holder: dict[str, Any], name: str) -> dict[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _text(holder: dict[str, Any], name: str) -> str | None:
    value = holder.get(name)
    return value if isinstance(value, str) else None


def _whole(holder: dict[str, Any], name: str) -> int | None:
    value = holder.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value == value // 1 else None


_UUID: Final = rb"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
_PICKED: Final = {
    name: re.compile(rb'"%b"\s*:\s*%b' % (key, value))
    for name, key, value in (
        ("message_id", b"messageId", b'"' + _UUID + b'"'),
        ("message_type", b"messageType", rb'"([A-Za-z]{1,40})"'),
        ("message_class", b"messageClass", rb'"([A-Za-z]{1,40})"'),
        ("sequence", b"sequence", b'"' + _UUID + b'"'),
        ("position", b"position", rb"([0-9]{1,9})\b"),
        ("total", b"total", rb"([0-9]{1,9})\b"),
    )
}


def _pick(raw: bytes) -> Peek:
    found = {name: pattern.search(raw, 0, contract.LOOKED_AT) for name, pattern in _PICKED.items()}
    texts = {name: match[1].decode() for name, match in found.items() if match}
    return Peek(
        message_id=texts.get("message_id"),
        message_type=texts.get("message_type"),
        message_class=texts.get("message_class"),
        sequence=texts.get("sequence"),
        position=int(texts["position"]) if "position" in texts else None,
        total=int(texts["total"]) if "total" in texts else None,
        damaged=True,
    )
