"""S3's checks of a request before it stores anything: its digests, and the parameters of a presigned query.

The digests are those that AWS checks: Content-MD5, and the ``x-amz-checksum-*`` headers, which may come as
trailers of an aws-chunked body.
"""

from __future__ import annotations

import hashlib
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Protocol
from urllib.parse import parse_qs

from emulator.listeners.aws.aws_chunked import ChunkError, Unframing
from emulator.listeners.aws.s3_answers import Reply, error

_PIECE_BYTES = 1 << 20
_CHECKSUM = b"x-amz-checksum-"
_PRESIGNED = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-Date",
    "X-Amz-SignedHeaders",
    "X-Amz-Expires",
)


@dataclass(frozen=True, slots=True)
class S3Request:
    """A request without its body."""

    method: str
    query: str
    headers: Mapping[bytes, bytes]


class _Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


class _Crc32:
    """A CRC-32 with the interface of a digest."""

    def __init__(self, crc: Callable[[bytes, int], int]) -> None:
        self._crc = crc
        self._value = 0

    def update(self, data: bytes) -> None:
        self._value = self._crc(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4, "big")


def _crc32c() -> _Digest:
    from crc32c import crc32c

    return _Crc32(crc32c)


# CRC64NVME is not checked: no small library computes it.
_CHECKSUMS: Mapping[bytes, Callable[[], _Digest]] = {
    b"crc32": lambda: _Crc32(zlib.crc32),
    b"crc32c": _crc32c,
    b"sha1": lambda: hashlib.sha1(usedforsecurity=False),
    b"sha256": hashlib.sha256,
}
_LENGTHS = {b"crc32": 4, b"crc32c": 4, b"crc64nvme": 8, b"sha1": 20, b"sha256": 32}


def refusal(request: S3Request, body: IO[bytes]) -> Reply | None:
    """S3's error for a request whose digests or presigned query are wrong; None when they are right.

    ``body`` is read from its position on if there is a digest to compare.
    """
    return _of_query(request.query) or _of_headers(request) or _of_body(request, body)


def _of_query(query: str) -> Reply | None:
    given = parse_qs(query, keep_blank_values=True) if "X-Amz-Algorithm" in query else {}
    if "X-Amz-Algorithm" not in given or all(any(given.get(name, [])) for name in _PRESIGNED):
        return None
    return error(
        "AuthorizationQueryParametersError",
        "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, "
        "X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.",
    )


def _of_headers(request: S3Request) -> Reply | None:
    """Refuse header values that are not digests."""
    md5 = request.headers.get(b"content-md5")
    if md5 is not None and _digest_in(md5, 16) is None:
        return error(
            "InvalidDigest",
            "The Content-MD5 you specified was invalid.",
            {"Content-MD5": md5.decode("latin-1")},
        )
    named = [name for name in _LENGTHS if _CHECKSUM + name in request.headers]
    if len(named) > 1:
        return error(
            "InvalidRequest",
            "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
        )
    return next((_invalid(name, "header") for name in named if not _is_whole(name, request.headers)), None)


def _of_body(request: S3Request, body: IO[bytes]) -> Reply | None:
    """Refuse a body whose digests differ from those that the request states."""
    headers = request.headers
    checksums = {name: headers[_CHECKSUM + name] for name in _LENGTHS if _CHECKSUM + name in headers}
    if "uploadId" in request.query and request.method == "POST":
        # CompleteMultipartUpload states the checksum of the whole object, not of its own body.
        checksums = {}
    trailing = [name.strip() for name in headers.get(b"x-amz-trailer", b"").lower().split(b",")]
    promised = [name for name in _LENGTHS if _CHECKSUM + name in trailing]
    digests = {name: _CHECKSUMS[name]() for name in {*checksums, *promised} & _CHECKSUMS.keys()}
    md5 = hashlib.md5(usedforsecurity=False) if b"content-md5" in headers else None
    if not digests and not promised and md5 is None:
        return None
    unframing = Unframing() if headers.get(b"x-amz-content-sha256", b"").startswith(b"STREAMING-") else None
    try:
        for piece in _data(body, unframing):
            for digest in (*digests.values(), *([md5] if md5 else [])):
                digest.update(piece)
    except ChunkError:
        return error("IncompleteBody", "The request body terminated unexpectedly")
    trailers = unframing.trailers if unframing else {}
    return (
        _of_trailers(promised, trailers)
        or _of_md5(headers, md5)
        or _of_checksums(checksums | {name: trailers[_CHECKSUM + name] for name in promised}, digests)
    )


def _data(body: IO[bytes], unframing: Unframing | None) -> Iterator[bytes]:
    while piece := body.read(_PIECE_BYTES):
        yield unframing.data(piece) if unframing else piece
    if unframing:
        unframing.end()


def _of_trailers(promised: list[bytes], trailers: Mapping[bytes, bytes]) -> Reply | None:
    if any(_CHECKSUM + name not in trailers for name in promised):
        return error(
            "MalformedTrailerError",
            "The request contained trailing data that was not well-formed or did not conform to our "
            "published schema.",
        )
    return next(
        (_invalid(name, "trailing header") for name in promised if not _is_whole(name, trailers)), None
    )


def _of_md5(headers: Mapping[bytes, bytes], md5: _Digest | None) -> Reply | None:
    if md5 is None or md5.digest() == _digest_in(headers[b"content-md5"], 16):
        return None
    details = {
        "ExpectedDigest": headers[b"content-md5"].decode("latin-1"),
        "CalculatedDigest": b64encode(md5.digest()).decode(),
    }
    return error("BadDigest", "The Content-MD5 you specified did not match what we received.", details)


def _of_checksums(checksums: Mapping[bytes, bytes], digests: Mapping[bytes, _Digest]) -> Reply | None:
    for name, digest in digests.items():
        if _digest_in(checksums[name], _LENGTHS[name]) != digest.digest():
            algorithm = name.decode().upper()
            return error("BadDigest", f"The {algorithm} you specified did not match the calculated checksum.")
    return None


def _is_whole(name: bytes, headers: Mapping[bytes, bytes]) -> bool:
    return _digest_in(headers[_CHECKSUM + name], _LENGTHS[name]) is not None


def _invalid(name: bytes, where: str) -> Reply:
    return error("InvalidRequest", f"Value for {(_CHECKSUM + name).decode()} {where} is invalid.")


def _digest_in(value: bytes, length: int) -> bytes | None:
    """The digest in a base64 value; None when it is not a digest of ``length`` bytes."""
    try:
        found = b64decode(value, validate=True)
    except ValueError:
        return None
    return found if len(found) == length else None
