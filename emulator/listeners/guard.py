"""Who may drive the sandbox: programs of this machine, beyond it those with the token; never a web page."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from http import HTTPStatus

import msgspec

from emulator.listeners.asgi import App, HttpScope, Receive, Send, answer
from emulator.resources import Problem, Refusal
from emulator.settings import LOOPBACK

_OPEN_PATHS = ("/health",)


class Guard:
    """In front of the control API.

    A request must name a host that is ours (a page that rebinds its own name to our address names another),
    come from no other origin (a browser says which page it runs), and where there is a ``token`` carry it
    as a bearer token; ``GET /health`` needs none. With a token, which no page can know, any host name will
    do.
    """

    def __init__(self, app: App, hosts: Iterable[str], token: str | None) -> None:
        self._app = app
        self._hosts = {*LOOPBACK, *(host.lower() for host in hosts)}
        self._token = token

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        refused = self._refused(scope)
        if refused is None:
            await self._app(scope, receive, send)
            return
        status, problem = refused
        headers = [(b"content-type", b"application/json")]
        if status == HTTPStatus.UNAUTHORIZED:
            headers.append((b"www-authenticate", b"Bearer"))
        await answer(send, status, headers, msgspec.json.encode(Refusal(problem)))

    def _refused(self, scope: HttpScope) -> tuple[HTTPStatus, Problem] | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "").lower()
        if self._token is None and _name(host) not in self._hosts:
            why = f"the host {host!r} is not this sandbox's; name it with --allow-host when it is meant to be"
            return HTTPStatus.FORBIDDEN, Problem("foreign_host", why)
        origin = headers.get(b"origin")
        if origin is not None and origin.lower() != f"http://{host}":
            why = f"a page of {origin} must not drive the sandbox"
            return HTTPStatus.FORBIDDEN, Problem("foreign_origin", why)
        if self._token is not None and scope["path"] not in _OPEN_PATHS:
            given = headers.get(b"authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
                why = "this sandbox asks for its token: authorization: Bearer <token>, or SANDBOX_TOKEN"
                return HTTPStatus.UNAUTHORIZED, Problem("token_needed", why)
        return None


def _name(host: str) -> str:
    """The name in a Host header, without its port and an IPv6 address's brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
