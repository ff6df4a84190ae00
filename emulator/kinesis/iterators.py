"""Shard iterators: opaque tokens that hold all their data, so the engine keeps none for them.

They are valid for five minutes of the clock, over a restart too.
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from binascii import Error as NotBase64Error
from datetime import UTC, datetime
from hashlib import blake2b
from typing import NamedTuple

from emulator.kinesis.errors import KinesisError, invalid_argument

LIFETIME_MS = 300_000
_FIELDS = struct.Struct(">6xBIIQQ")
_VERSION = 1
_SEAL_BYTES = 14
# No secret: it only tells tokens from what a client made up, or cut short.
_KEY = b"shard iterator"


class ShardIterator(NamedTuple):
    """The number of a stream, the index of a shard, the ordinal of the next record, when it was made (ms)."""

    stream: int
    shard: int
    ordinal: int
    created: int

    def token(self) -> str:
        """The token that a client gets."""
        fields = _FIELDS.pack(_VERSION, *self)
        return b64encode(fields + _seal(fields)).decode()


def read(token: str, now: int) -> ShardIterator:
    """Read a token at ``now`` (ms). Like AWS, accept it in quotation marks too.

    Raises InvalidArgumentException and ExpiredIteratorException.
    """
    if token[:1] == '"' == token[-1:]:
        token = token[1:-1]
    try:
        raw = b64decode(token, validate=True)
    except (NotBase64Error, ValueError):
        raw = b""
    fields, seal = raw[: _FIELDS.size], raw[_FIELDS.size :]
    if len(fields) != _FIELDS.size or seal != _seal(fields):
        raise invalid_argument("Invalid ShardIterator.")
    found = ShardIterator(*_FIELDS.unpack(fields)[1:])
    if now - found.created > LIFETIME_MS:
        raise KinesisError(
            "ExpiredIteratorException",
            f"Iterator expired. The iterator was created at time {_date(found.created)} while right now it "
            f"is {_date(now)} which is further in the future than the tolerated delay of {LIFETIME_MS} "
            "milliseconds.",
        )
    return found


def _seal(fields: bytes) -> bytes:
    return blake2b(fields, digest_size=_SEAL_BYTES, key=_KEY).digest()


def _date(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
