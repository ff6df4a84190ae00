"""How clients of the ports but AWS's send the sandbox's token, and how it is asked for."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from typing import Final

import msgspec

from emulator.http.admission.guard import AccessPolicy, Response, bearer
from emulator.http.asgi import HttpScope
from rdss_sandbox.admission import HeaderMap
from rdss_sandbox.shapes.refusals import Problem, Refusal

_WANTS: Final = "this sandbox asks for its token: authorization: Bearer <token>, or SANDBOX_TOKEN"


def _given_as_bearer(_scope: HttpScope, headers: HeaderMap) -> Iterable[bytes]:
    return bearer(headers)


def _needs_bearer(_scope: HttpScope, _headers: HeaderMap) -> Response:
    headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
    body = msgspec.json.encode(Refusal(Problem("token_needed", _WANTS)))
    return Response(HTTPStatus.UNAUTHORIZED, headers, body)


def _given_as_password(_scope: HttpScope, headers: HeaderMap) -> Iterable[bytes]:
    scheme, _, login = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"basic":
        with suppress(ValueError):
            yield b64decode(login.strip()).partition(b":")[2]
    yield from bearer(headers)


def _needs_login(_scope: HttpScope, _headers: HeaderMap) -> Response:
    body = msgspec.json.encode({"error": "not_authorized", "reason": "Not_Authorized"})
    challenge = (b"www-authenticate", b'Basic realm="RabbitMQ Management"')
    return Response(HTTPStatus.UNAUTHORIZED, [(b"content-type", b"application/json"), challenge], body)


CONTROL: Final = AccessPolicy(
    "control", _given_as_bearer, _needs_bearer, is_open=lambda scope: scope["path"] == "/health"
)
# As at the AMQP port, the token is the password of any user.
AMQP_MANAGEMENT: Final = AccessPolicy("amqp_management", _given_as_password, _needs_login)
