"""The request ids of AWS's answers, which people quote and SDKs log."""

from __future__ import annotations

from typing import NamedTuple

from pybase64 import b64encode

from emulator.http.asgi import Headers
from emulator.rng import new_bytes, uuid_of

_UUID_BYTES = 16
_ID_2_BYTES = 72
_HOST_ID_BYTES = 56
_S3_ID_BYTES = 8


class S3Ids(NamedTuple):
    """The two ids of an answer of S3: the request's and the host's."""

    request: bytes
    host: bytes

    @property
    def headers(self) -> Headers:
        return [(b"x-amz-request-id", self.request), (b"x-amz-id-2", self.host)]


def s3_ids() -> S3Ids:
    """New ids of the same length as AWS's."""
    return S3Ids(new_bytes(_S3_ID_BYTES).hex().upper().encode(), b64encode(new_bytes(_HOST_ID_BYTES)))


def kinesis_ids() -> Headers:
    """The id headers of an answer of Kinesis: the request id under both names, and the extended id."""
    # Drawn at once: to ask the system for random bytes takes a twentieth of a PutRecord.
    drawn = new_bytes(_UUID_BYTES + _ID_2_BYTES)
    identity = uuid_of(drawn[:_UUID_BYTES]).encode()
    return [
        (b"x-amzn-requestid", identity),
        (b"x-amz-request-id", identity),
        (b"x-amz-id-2", b64encode(drawn[_UUID_BYTES:])),
    ]
