"""How long the head of an HTTP/1.1 request may be, and what is between the pieces of a body."""

from __future__ import annotations

from http import HTTPStatus

from emulator.http.asgi import Headers
from emulator.http.bounds.client_limits import SLICE_BYTES, Limits


class HeadRefusedError(Exception):
    """A request that is refused with ``status`` before the application sees it."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


def check_head(limits: Limits, target: bytes, headers: Headers, unproductive: int) -> None:
    """Raise RequestRefusedError for a head that is too long.

    ``unproductive`` is the number of bytes since the last piece of a body, or since the request began: of the
    head, of chunk extensions, or of trailers.
    """
    if len(target) > limits.target_bytes:
        why = f"a target has {limits.target_bytes} bytes at most"
        raise HeadRefusedError(HTTPStatus.REQUEST_URI_TOO_LONG, why)
    if len(headers) > limits.header_fields:
        why = f"a request has {limits.header_fields} headers at most"
        raise HeadRefusedError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, why)
    if unproductive > limits.head_bytes and (
        # Counting is slow, and needless for a head that is too long by any count.
        unproductive > limits.head_bytes + limits.target_bytes + SLICE_BYTES
        or sum(len(name) + len(value) for name, value in headers) > limits.head_bytes
    ):
        why = f"the headers of a request have {limits.head_bytes} bytes at most"
        raise HeadRefusedError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, why)
