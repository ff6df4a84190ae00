"""Error bodies in the shape that the protocol of a request reads: JSON, CBOR or XML."""

from __future__ import annotations

from html import escape

import msgspec

JSON_1_1 = b"application/x-amz-json-1.1"
CBOR_1_1 = b"application/x-amz-cbor-1.1"


def service_error(request_content_type: bytes, code: str, message: str) -> tuple[bytes, bytes]:
    """Content type and body of an error in the protocol that a request's content type tells."""
    if b"json" in request_content_type:
        return request_content_type, msgspec.json.encode({"__type": code, "message": message})
    said = escape(message, quote=False)
    return b"application/xml", f"<Error><Code>{code}</Code><Message>{said}</Message></Error>".encode()
