"""A message around a published header or body, which the specification's examples hold one by one."""

from __future__ import annotations

import msgspec

from schemas.documents import body_for, header_for, kind_of
from schemas.envelope import serialise
from schemas.samples import Samples


def completed(raw: bytes, samples: Samples) -> bytes:
    """The bytes themselves, or around a header or a body alone a message with a fresh counterpart.

    The header or body stays byte for byte what it was.
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
