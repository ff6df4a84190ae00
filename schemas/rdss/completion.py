"""Completion of a single header or body, as in the specification's examples, to a whole message."""

from __future__ import annotations

import msgspec

from schemas.rdss.documents import body_for, header_for, kind_of
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples


def complete(raw: bytes, samples: Samples) -> bytes:
    """Complete a single header or body with a new counterpart; other bytes are returned unchanged.

    The given header or body stays byte for byte.
    """
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return raw
    match kind_of(value):
        case "header":
            return _message(raw, serialise(body_for(value, samples)))
        case "body":
            return _message(serialise(header_for(value, samples)), raw)
    return raw


def _message(header: bytes, body: bytes) -> bytes:
    return b'{"messageHeader":%b,"messageBody":%b}' % (header, body)
