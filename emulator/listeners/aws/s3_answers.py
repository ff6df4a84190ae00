"""S3's answers as AWS gives them: every one with its two ids, an error with the same in its body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from http import HTTPStatus
from typing import NamedTuple

from emulator.http.asgi import Headers
from emulator.listeners.aws.request_ids import S3Ids, s3_ids

_IDS = re.compile(rb"\s*<(RequestId|HostId)>[^<]*</\1>")
_OWN_HEADERS = (b"x-amzn-requestid", b"x-amz-request-id", b"x-amz-id-2")


class Reply(NamedTuple):
    """An answer as it goes out; ``rest`` follows on the ``body`` of a long one, read while it is sent."""

    status: int
    headers: Headers
    body: bytes
    rest: Iterator[bytes] = iter(())


def error(code: str, message: str, details: Mapping[str, str] | None = None) -> Reply:
    """400 with an error of S3; ``details`` are its further elements."""
    elements = {"Code": code, "Message": message, **(details or {})}
    inside = "".join(f"<{name}>{escape(value, quote=False)}</{name}>" for name, value in elements.items())
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{inside}</Error>'.encode()
    return Reply(HTTPStatus.BAD_REQUEST, [(b"content-type", b"application/xml")], body)


def identified(reply: Reply) -> Reply:
    """The answer with its ids; those of an error that is told in XML are in its body too."""
    ids = s3_ids()
    headers = [header for header in reply.headers if header[0] not in _OWN_HEADERS] + ids.headers
    if reply.status < HTTPStatus.BAD_REQUEST or b"</Error>" not in reply.body:
        return reply._replace(headers=headers)
    body = _with_ids(reply.body, ids)
    return Reply(reply.status, [header for header in headers if header[0] != b"content-length"], body)


def _with_ids(body: bytes, ids: S3Ids) -> bytes:
    told = b"<RequestId>%b</RequestId><HostId>%b</HostId></Error>" % ids
    before, _, after = _IDS.sub(b"", body).rpartition(b"</Error>")
    return before + told + after
