"""The caller that a request's signature names (AWS Signature Version 4). Signatures are not verified."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs

DEFAULT_ACCOUNT = "000000000000"
DEFAULT_REGION = "us-east-1"

_CREDENTIAL = re.compile(rb"Credential=([^/,\s]+)/(\d*)/([^/,\s]*)/([^/,\s]*)/aws4_request")
_ACCOUNT = re.compile(r"\d{12}")
_HEADER_PARAMETERS = (b"Credential=", b"Signature=", b"SignedHeaders=")
_QUERY_PARAMETERS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
    "X-Amz-Date",
)


class Caller(NamedTuple):
    """The account, region and service that a request is signed for, and its access key.

    An access key of 12 digits is the account. Any other key belongs to ``DEFAULT_ACCOUNT``. ``service`` is in
    lower case.
    """

    account: str
    region: str
    service: str
    access_key: str


@lru_cache(maxsize=256)
def _caller(access_key: bytes, region: bytes, service: bytes) -> Caller:
    key = access_key.decode("latin-1")
    return Caller(
        key if _ACCOUNT.fullmatch(key) else DEFAULT_ACCOUNT,
        region.decode("latin-1") or DEFAULT_REGION,
        service.decode("latin-1").lower(),
        key,
    )


def caller_of(authorization: bytes | None, query: bytes = b"") -> Caller | None:
    """The caller in the Authorization header or a presigned query; None without a credential scope."""
    if authorization:
        found = _CREDENTIAL.search(authorization)
        return _caller(found[1], found[3], found[4]) if found else None
    if b"X-Amz-Credential" in query:
        scope = parse_qs(query.decode("latin-1")).get("X-Amz-Credential", [""])[0].split("/")
        if len(scope) == 5:
            return _caller(scope[0].encode(), scope[2].encode(), scope[3].encode())
    return None


def incomplete(authorization: bytes, *, dated: bool) -> str | None:
    """What an Authorization header lacks, in AWS's words; None when it is complete."""
    lacks = [
        f"Authorization header requires '{name[:-1].decode()}' parameter. "
        for name in _HEADER_PARAMETERS
        if name not in authorization
    ]
    if not dated:
        lacks.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ")
    return "".join(lacks) + f"Authorization={authorization.decode('latin-1')}" if lacks else None


def incomplete_query(query: bytes) -> str | None:
    """What a presigned query lacks, in AWS's words; None when it is complete."""
    given = parse_qs(query.decode("latin-1"))
    lacks = [
        f"AWS query-string parameters must include '{name}'. "
        for name in _QUERY_PARAMETERS
        if name not in given
    ]
    return "".join(lacks) + "Re-examine the query-string parameters." if lacks else None
