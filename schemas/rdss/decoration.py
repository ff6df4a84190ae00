"""What a message gets on its way: the reason why it was moved to a queue ("Error Queues"), and a history."""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from typing import TYPE_CHECKING, Any, Final

import msgspec

from schemas.contract import Undecorated
from schemas.message_timestamps import timestamp
from schemas.rdss import MAX_MESSAGE_BYTES, SPECIFICATION_VERSION
from schemas.rdss.peek import leading_header, peek

if TYPE_CHECKING:
    from schemas.contract import Code

SYNTHESISED: Final = "rdss-sandbox (header synthesised)"
"""The ``generator`` in a header that was made for bytes without a readable header."""
REDRIVEN: Final = "rdss-sandbox-redrive"
"""The ``machineId`` in the history of a message that was sent again from a queue."""

_parts_of: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_object_of: Final = msgspec.json.Decoder(dict[str, Any]).decode
_check: Final = msgspec.json.Decoder().decode
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def decorate(
    raw: bytes,
    code: Code,
    description: str,
    *,
    now: float,
    machine_id: str = "rdss-sandbox",
    machine_address: str = "localhost",
    original: str | None = None,
) -> bytes:
    """Add ``errorCode``, ``errorDescription`` and a last entry in ``messageHistory`` to a message.

    Everything else stays byte for byte, the body included. ``original`` is the address where the whole
    message was stored; the body is then replaced by ``{"original", "bytes", "sha256"}``, because an oversize
    message fits in no queue; of a header that is oversize itself only the identity is left. For bytes that
    are not JSON, the body is ``{"raw"}`` with all bytes as text, or ``{"rawBase64"}`` where they are not
    UTF-8. Their header is kept where it can be read; else a header is made from what can be found, with
    ``SYNTHESISED`` as its ``generator``. ``now`` is in seconds since the epoch.
    """
    parts = _readable_parts(raw)
    if parts is None:
        header = _leading_object(raw) or _synthesised_header(raw, now)
        parts = {"messageHeader": _raw_json(header), "messageBody": _raw_json(_raw_body(raw))}
    else:
        header = _object_of(parts["messageHeader"])
    header["errorCode"] = str(code)
    header["errorDescription"] = description or code.description
    history = header.setdefault("messageHistory", [])
    if isinstance(history, list):
        history.append(history_entry(machine_id, machine_address, now))
    parts["messageHeader"] = _raw_json(header)
    if original is None:
        return msgspec.json.encode(parts)
    reference = {"original": original, "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    parts["messageBody"] = _raw_json(reference)
    referring = msgspec.json.encode(parts)
    if len(referring) <= MAX_MESSAGE_BYTES:
        return referring
    outline = msgspec.json.encode({"messageHeader": _identity_of(raw), "messageBody": reference})
    machine = {"machine_id": machine_id, "machine_address": machine_address}
    return decorate(outline, code, description, now=now, **machine)


def undecorate(raw: bytes) -> Undecorated:
    """Unwrap what ``decorate`` put into a body, and read what it wrote beside it; never raises."""
    parts = _readable_parts(raw)
    header = _object_of(parts["messageHeader"]) if parts else {}
    why, history = header.get("errorDescription"), header.get("messageHistory")
    entries = history if isinstance(history, list) else []
    reason = why if isinstance(why, str) else None
    redriven = sum(isinstance(entry, dict) and entry.get("machineId") == REDRIVEN for entry in entries)
    body = _object_or_nothing(parts.get("messageBody")) if parts and "errorCode" in header else {}
    try:
        match body:
            case {"raw": str(text)}:
                return Undecorated(text.encode(), reason, redriven)
            case {"rawBase64": str(text)}:
                return Undecorated(base64.b64decode(text, validate=True), reason, redriven)
            case {"original": str(address), "sha256": str(digest)}:
                return Undecorated(raw, reason, redriven, address, digest)
    except ValueError:  # a body of another's that is not what it seems
        pass
    return Undecorated(raw, reason, redriven)


def redrive(raw: bytes, *, now: float) -> bytes:
    """Remove the error code and its description, and add an entry to the history, which counts the rounds.

    Bytes without a readable header stay as they are. ``now`` is in seconds since the epoch.
    """
    parts = _readable_parts(raw)
    if parts is None:
        return raw
    header = _object_of(parts["messageHeader"])
    kept = {name: value for name, value in header.items() if name not in {"errorCode", "errorDescription"}}
    plain = msgspec.json.encode({**parts, "messageHeader": _raw_json(kept)})
    return stamp(plain, REDRIVEN, "localhost", now=now)


def stamp(raw: bytes, machine_id: str, machine_address: str, *, now: float) -> bytes:
    """Add an entry at the end of ``messageHistory``; bytes without a readable header stay as they are.

    Nothing else changes; the body stays byte for byte. ``now`` is in seconds since the epoch.
    """
    entry = history_entry(machine_id, machine_address, now)
    try:
        parts = _parts_of(raw)
        header = _object_of(parts["messageHeader"])
        header["messageHistory"] = [*header.get("messageHistory", ()), entry]
    except (msgspec.MsgspecError, KeyError, TypeError, UnicodeDecodeError, RecursionError):
        return raw
    return msgspec.json.encode({**parts, "messageHeader": _raw_json(header)})


def history_entry(machine_id: str, machine_address: str, now: float) -> dict[str, str]:
    """The entry of ``messageHistory`` for a message that passed a machine ``now``."""
    return {"machineId": machine_id, "machineAddress": machine_address, "timestamp": timestamp(now)}


def _identity_of(raw: bytes) -> dict[str, str]:
    """The start of a header that is too large."""
    glance = peek(raw)
    header = {
        "messageId": glance.message_id,
        "messageClass": glance.message_class,
        "messageType": glance.message_type,
    }
    return {name: text[:200] for name, text in header.items() if text}


def _object_or_nothing(body: msgspec.Raw | None) -> dict[str, Any]:
    try:
        return _object_of(body or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}


def _readable_parts(raw: bytes) -> dict[str, msgspec.Raw] | None:
    """The top-level fields as written; None unless the bytes are JSON with an object as header."""
    try:
        _check(raw)
        parts = _parts_of(raw)
        _object_of(parts.get("messageHeader", b"null"))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return parts


def _leading_object(raw: bytes) -> dict[str, Any] | None:
    try:
        return _object_of(leading_header(raw))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _synthesised_header(raw: bytes, now: float) -> dict[str, Any]:
    """Build a header from what can be found in the bytes.

    The messageId is found in the text, or derived from its digest, so that a redelivery has the same one.
    """
    glance = peek(raw)
    digest = hashlib.sha256(raw).hexdigest()
    message_id = glance.message_id if glance.message_id and _UUID.fullmatch(glance.message_id) else None
    header: dict[str, Any] = {"messageId": message_id or str(uuid.uuid5(uuid.NAMESPACE_OID, digest))}
    if glance.message_class:
        header["messageClass"] = glance.message_class
    if glance.message_type:
        header["messageType"] = glance.message_type
    header["messageTimings"] = {"publishedTimestamp": timestamp(now)}
    header["messageSequence"] = {"sequence": header["messageId"], "position": 1, "total": 1}
    header["version"] = SPECIFICATION_VERSION
    header["generator"] = SYNTHESISED
    return header


def _raw_body(raw: bytes) -> dict[str, str]:
    try:
        return {"raw": raw.decode()}
    except UnicodeDecodeError:
        return {"rawBase64": base64.b64encode(raw).decode("ascii")}


def _raw_json(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))
