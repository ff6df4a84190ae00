"""Admission to a port: programs that call it by its host name, with the token if one is set; no web page."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, NamedTuple

from emulator.events import Events
from emulator.http.asgi import App, Headers, HttpScope, Message, Receive, Send, answer
from rdss_sandbox.admission import Admission, HeaderMap, foreign_page, host_name, is_ambiguous

_MOST_REMEMBERED: Final = 1024
_MOST_TOLD: Final = 100
_LONGEST_TOLD: Final = 200
_PREFLIGHT_SECONDS: Final = 600
_PAGES_OF: Final = {"https": "https", "wss": "https"}
"""The scheme of the pages that open connections of a scheme, where it is not http."""
_DECIDED_HERE: Final = frozenset(
    {b"access-control-allow-origin", b"access-control-allow-credentials", b"access-control-expose-headers"}
)


class Response(NamedTuple):
    """A whole response."""

    status: int
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """How a port takes the token.

    ``given`` returns the values in a request that may be the token, ``needs_token`` the port's answer to a
    request without it. ``is_open`` says whether a request needs no token, ``is_called`` whether clients of
    this port use a host name besides the sandbox's own.
    """

    name: str
    given: Callable[[HttpScope, HeaderMap], Iterable[bytes]]
    needs_token: Callable[[HttpScope, HeaderMap], Response]
    is_open: Callable[[HttpScope], bool] = lambda _scope: False
    is_called: Callable[[str], bool] = lambda _host: False


class Guard:
    """Stands in front of a port's application, and refuses requests that it must not see.

    A request must name a host that is ours, and come from no page but the port's own and those that were
    allowed. Where there is a token, it must carry that, and then any host name will do. What is refused as a
    page's gets 403 and nothing else, the same at every port; the event ``request.refused`` has the reason,
    once for each. One that says twice who it is for or from gets 400 (RFC 9112 section 3.2).
    """

    def __init__(self, app: App, policy: AccessPolicy, admission: Admission, events: Events) -> None:
        self._app = app
        self._policy = policy
        self._admission = admission
        self._token = admission.token.encode() if admission.token else None
        self._events = events
        self._known: set[bytes] = set()
        self._reports: set[tuple[str, str]] = set()

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        headers: HeaderMap = dict(scope["headers"])
        if len(headers) != len(scope["headers"]) and is_ambiguous(scope["headers"]):
            await answer(send, HTTPStatus.BAD_REQUEST, [(b"content-length", b"0")], b"")
            return
        browsed = b"origin" in headers or b"sec-fetch-site" in headers
        if browsed or self._token is not None or headers.get(b"host") not in self._known:
            refused = self._refused(scope, headers)
            page = self._admission.allowed_page(headers) if browsed else None
            if refused is None and page and _is_preflight(scope, headers):
                refused = _preflight(headers)
            if page:
                send = _readable_by(page, send)
            if refused is not None:
                await answer(send, *refused)
                return
        await self._app(scope, receive, send)

    def _refused(self, scope: HttpScope, headers: HeaderMap) -> Response | None:
        host = headers.get(b"host", b"")
        allowed = self._admission.allowed_page(headers)
        if not allowed and (page := foreign_page(headers, _PAGES_OF.get(scope["scheme"], "http"))):
            return self._silent("origin", page, "--allow-origin")
        authorised = self._token is None or self._carries_token(scope, headers)
        if not (authorised and self._token) and not self._is_ours(host):
            return self._silent("host", host.decode("latin-1"), "--allow-host")
        if authorised or self._policy.is_open(scope) or (allowed and _is_preflight(scope, headers)):
            return None
        return self._policy.needs_token(scope, headers)

    def _is_ours(self, host: bytes) -> bool:
        if host in self._known:
            return True
        name = host_name(host)
        ours = name in self._admission.hosts or self._policy.is_called(name)
        if ours and len(self._known) < _MOST_REMEMBERED:
            self._known.add(host)
        return ours

    def _carries_token(self, scope: HttpScope, headers: HeaderMap) -> bool:
        token = self._token or b""
        return any(hmac.compare_digest(given, token) for given in self._policy.given(scope, headers))

    def _silent(self, what: str, value: str, option: str) -> Response:
        """Refuse without a reason for the client. The event has it, for the sandbox's user."""
        value = value[:_LONGEST_TOLD]
        if (what, value) not in self._reports and len(self._reports) < _MOST_TOLD:
            self._reports.add((what, value))
            self._events.emit(
                "request.refused",
                port=self._policy.name,
                **{what: value},
                why=f"the {what} {value!r} is not this sandbox's; if it is meant to be, start with {option}",
            )
        return Response(HTTPStatus.FORBIDDEN, [(b"content-length", b"0")], b"")


def bearer(headers: HeaderMap) -> list[bytes]:
    """The token of ``Authorization: Bearer``; [] when there is none."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    return [token.strip()] if scheme.lower() == b"bearer" else []


def _is_preflight(scope: HttpScope, headers: HeaderMap) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == "OPTIONS"
        and b"access-control-request-method" in headers
    )


def _preflight(headers: HeaderMap) -> Response:
    """Allow all that the page asks for. That the page is an allowed one was checked before."""
    headers_of_answer = [
        (b"access-control-allow-methods", headers[b"access-control-request-method"]),
        (b"access-control-max-age", b"%d" % _PREFLIGHT_SECONDS),
    ]
    if names := headers.get(b"access-control-request-headers"):
        headers_of_answer.append((b"access-control-allow-headers", names))
    if b"access-control-request-private-network" in headers:
        headers_of_answer.append((b"access-control-allow-private-network", b"true"))
    return Response(HTTPStatus.NO_CONTENT, headers_of_answer, b"")


def _readable_by(origin: bytes, send: Send) -> Send:
    """Let a page of this origin read the answers. The application's own CORS headers are replaced."""
    ours = [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", b"*"),
        (b"vary", b"Origin"),
    ]

    async def send_readable(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [header for header in message.get("headers", ()) if header[0].lower() not in _DECIDED_HERE]
            message = {**message, "headers": [*kept, *ours]}
        await send(message)

    return send_readable
