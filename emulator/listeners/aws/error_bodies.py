"""Error bodies in the protocol of the request: JSON, CBOR, or one of three kinds of XML."""

from __future__ import annotations

from typing import Final

import msgspec

from emulator.http.asgi import Headers
from emulator.rng import new_uuid

JSON_1_1: Final = b"application/x-amz-json-1.1"
CBOR_1_1: Final = b"application/x-amz-cbor-1.1"
_FORM: Final = b"application/x-www-form-urlencoded"
_RPC_V2: Final = (b"smithy-protocol", b"rpc-v2-cbor")
_REST_XML: Final = frozenset({"cloudfront", "route53", "s3-outposts"})
_S3: Final = frozenset({"s3", "s3express"})


def service_error(
    service: str, request_headers: dict[bytes, bytes], code: str, message: str
) -> tuple[Headers, bytes]:
    """The headers and the body of an error, for a request to ``service`` (its name in signatures).

    The protocol follows from the request's headers, or else from the service.
    """
    kind = request_headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if b"cbor" in kind or request_headers.get(_RPC_V2[0]) == _RPC_V2[1]:
        import cbor2

        body = cbor2.dumps({"__type": code, "message": message})
        return [(b"content-type", kind or b"application/cbor"), _RPC_V2], body
    if b"json" not in kind and (kind == _FORM or service in _S3 | _REST_XML):
        return [(b"content-type", b"application/xml")], _xml(service, code, message)
    headers = [(b"content-type", kind or b"application/json"), (b"x-amzn-errortype", code.encode())]
    return headers, msgspec.json.encode({"__type": code, "message": message})


def _xml(service: str, code: str, message: str) -> bytes:
    from html import escape

    elements = f"<Code>{code}</Code><Message>{escape(message, quote=False)}</Message>"
    request = new_uuid()
    if service in _S3:
        return f"<Error>{elements}<RequestId>{request}</RequestId></Error>".encode()
    if service == "ec2":
        errors = f"<Errors><Error>{elements}</Error></Errors>"
        return f"<Response>{errors}<RequestID>{request}</RequestID></Response>".encode()
    error = f"<Error><Type>Sender</Type>{elements}</Error>"
    return f"<ErrorResponse>{error}<RequestId>{request}</RequestId></ErrorResponse>".encode()
