"""Frames of ``application/vnd.amazon.eventstream``, in which SubscribeToShard answers.

A frame is: total length, headers length, CRC-32 of those two; headers; the
payload; CRC-32 of all before it. Numbers are big-endian, 32 bits. A header is
its name's length (8 bits), its name, its type (7 for a string), its value's
length (16 bits), its value.
"""

from __future__ import annotations

import struct
from zlib import crc32

CONTENT_TYPE = b"application/vnd.amazon.eventstream"

_STRING = 7
_OVERHEAD_BYTES = 16


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """One frame. Header names take up to 255 bytes, values up to 32,767."""
    block = b"".join(_header(name.encode(), value.encode()) for name, value in headers.items())
    prelude = struct.pack(">II", _OVERHEAD_BYTES + len(block) + len(payload), len(block))
    start = prelude + struct.pack(">I", crc32(prelude)) + block
    return b"".join((start, payload, struct.pack(">I", crc32(payload, crc32(start)))))


def event(kind: str, content_type: bytes, payload: bytes) -> bytes:
    """The frame of an event. The first event's kind is ``initial-response``."""
    headers = {":event-type": kind, ":content-type": content_type.decode(), ":message-type": "event"}
    return frame(headers, payload)


def exception(code: str, content_type: bytes, payload: bytes) -> bytes:
    """The frame of an error that ends the stream."""
    headers = {":exception-type": code, ":content-type": content_type.decode(), ":message-type": "exception"}
    return frame(headers, payload)


def _header(name: bytes, value: bytes) -> bytes:
    return struct.pack(">B", len(name)) + name + struct.pack(">BH", _STRING, len(value)) + value
