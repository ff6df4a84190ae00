"""Tokens for the next page of a listing; they are good for five minutes of the clock."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import msgspec

from emulator.kinesis.errors import KinesisError, invalid_argument

_LIFETIME_MS = 300_000
_decode = msgspec.json.Decoder(tuple[str, str, dict[str, Any] | None, int]).decode


def page(stream: str, after: str, chosen: dict[str, Any] | None, now: int) -> str:
    """A token, made at ``now`` ms, for what follows ``after`` in a listing of ``stream`` with a filter."""
    return b64encode(msgspec.json.encode([stream, after, chosen, now])).decode()


def read_page(token: str, now: int) -> tuple[str, str, dict[str, Any] | None]:
    """The stream, place and filter of a token. Raises InvalidArgument- and ExpiredNextTokenException."""
    try:
        stream, after, chosen, created = _decode(b64decode(token, validate=True))
    except (ValueError, msgspec.DecodeError):
        raise invalid_argument(f"NextToken {token} is not valid.") from None
    if now - created > _LIFETIME_MS:
        raise KinesisError(
            "ExpiredNextTokenException", "The NextToken has expired: list again from the start."
        )
    return stream, after, chosen


def stream_of_page(token: str) -> str | None:
    """The stream whose listing a token goes on with; None for a token that is not of this engine."""
    try:
        return _decode(b64decode(token, validate=True))[0]
    except (ValueError, msgspec.DecodeError):
        return None
