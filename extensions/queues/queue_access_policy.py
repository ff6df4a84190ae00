"""How clients of queues send the sandbox's token, and how it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

import msgspec

from emulator.http.admission.guard import AccessPolicy, Response, bearer
from emulator.http.asgi import HttpScope
from rdss_sandbox.admission import HeaderMap

_WANT: Final = "This sandbox asks for its token, in the header X-Auth-Token."


def _given(_scope: HttpScope, headers: HeaderMap) -> Iterable[bytes]:
    if token := headers.get(b"x-auth-token"):
        yield token
    yield from bearer(headers)


def _needs_token(_scope: HttpScope, _headers: HeaderMap) -> Response:
    body = msgspec.json.encode({"title": "Authentication required", "description": _WANT})
    headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
    return Response(HTTPStatus.UNAUTHORIZED, headers, body)


# A WebSocket client authenticates with its first action.
POLICY: Final = AccessPolicy(
    "queues", _given, _needs_token, is_open=lambda scope: scope["type"] == "websocket"
)
