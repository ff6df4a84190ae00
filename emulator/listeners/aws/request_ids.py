"""The ids under which AWS answers, for people to quote and for SDKs to log."""

from __future__ import annotations

from typing import NamedTuple

from pybase64 import b64encode

from emulator.http.asgi import Headers
from emulator.rng import new_bytes, new_uuid

_ID_2_BYTES = 72
_HOST_ID_BYTES = 56
_S3_ID_BYTES = 8


class S3Ids(NamedTuple):
    """The ids of an answer of S3: of its request, and of the host that answered."""

    request: bytes
    host: bytes

    @property
    def headers(self) -> Headers:
        return [(b"x-amz-request-id", self.request), (b"x-amz-id-2", self.host)]


def s3_ids() -> S3Ids:
    """Fresh ids, as long as AWS's."""
    return S3Ids(new_bytes(_S3_ID_BYTES).hex().upper().encode(), b64encode(new_bytes(_HOST_ID_BYTES)))


def kinesis_ids() -> Headers:
    """The headers that identify an answer of Kinesis: the request's id by both names, and the second id."""
    identity = new_uuid().encode()
    return [
        (b"x-amzn-requestid", identity),
        (b"x-amz-request-id", identity),
        (b"x-amz-id-2", b64encode(new_bytes(_ID_2_BYTES))),
    ]
