"""S3's answers as AWS sends them: each has two ids, and an error has them in its body too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from http import HTTPStatus
from typing import NamedTuple

from emulator.http.asgi import Headers
from emulator.listeners.aws.request_ids import s3_ids

_IDS = re.compile(rb"\s*<(RequestId|HostId)>[^<]*</\1>")
_OWN_HEADERS = (b"x-amzn-requestid", b"x-amz-request-id", b"x-amz-id-2")


class Reply(NamedTuple):
    """An answer. A long one begins with ``body``, and ``rest`` is read while it is sent."""

    status: int
    headers: Headers
    body: bytes
    rest: Iterator[bytes] = iter(())


def error(code: str, message: str, details: Mapping[str, str] | None = None) -> Reply:
    """An S3 error with status 400. ``details`` are further elements of the document."""
    elements = {"Code": code, "Message": message, **(details or {})}
    inside = "".join(f"<{name}>{escape(value, quote=False)}</{name}>" for name, value in elements.items())
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{inside}</Error>'.encode()
    return Reply(HTTPStatus.BAD_REQUEST, [(b"content-type", b"application/xml")], body)


def with_ids(reply: Reply) -> Reply:
    """The answer with new ids in its headers, and in the body of an XML error."""
    ids = s3_ids()
    headers = [header for header in reply.headers if header[0] not in _OWN_HEADERS] + ids.headers
    if reply.status < HTTPStatus.BAD_REQUEST or b"</Error>" not in reply.body:
        return reply._replace(headers=headers)
    elements = b"<RequestId>%b</RequestId><HostId>%b</HostId></Error>" % ids
    before, _, after = _IDS.sub(b"", reply.body).rpartition(b"</Error>")
    headers = [header for header in headers if header[0] != b"content-length"]
    return Reply(reply.status, headers, before + elements + after)
