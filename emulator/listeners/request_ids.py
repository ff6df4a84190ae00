"""The ids under which AWS answers, for people to quote and for SDKs to log."""

from __future__ import annotations

from base64 import b64encode

from emulator.listeners.asgi import Headers
from emulator.rng import new_bytes, new_uuid

_ID_2_BYTES = 72
_S3_ID_BYTES = 8


def kinesis_ids() -> Headers:
    """The headers that identify an answer of Kinesis: the request's id by both names, and the second id."""
    identity = new_uuid().encode()
    return [
        (b"x-amzn-requestid", identity),
        (b"x-amz-request-id", identity),
        (b"x-amz-id-2", b64encode(new_bytes(_ID_2_BYTES))),
    ]
