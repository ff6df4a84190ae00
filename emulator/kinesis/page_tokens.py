"""Tokens for the next page of a listing. They are valid for five minutes of the clock."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import msgspec

from emulator.kinesis.errors import KinesisError, invalid_argument

_LIFETIME_MS = 300_000
_decode = msgspec.json.Decoder(tuple[str, str, dict[str, Any] | None, int]).decode


def page(stream: str, after: str, chosen: dict[str, Any] | None, now: int) -> str:
    """A token, made at ``now`` (ms), for the page after ``after`` in a filtered listing of ``stream``."""
    return b64encode(msgspec.json.encode([stream, after, chosen, now])).decode()


def read_page(token: str, now: int) -> tuple[str, str, dict[str, Any] | None]:
    """Read a token at ``now`` (ms): the stream, the last item of the page before, and the filter.

    Raises InvalidArgumentException and ExpiredNextTokenException.
    """
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
    """The stream whose listing a token continues; None for a token that this engine did not make."""
    try:
        return _decode(b64decode(token, validate=True))[0]
    except (ValueError, msgspec.DecodeError):
        return None
