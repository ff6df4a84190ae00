"""Who comes in at a port: programs that call it by its name, with the token if there is one; no web page."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit

from emulator.events import Events
from emulator.listeners.asgi import App, Headers, HttpScope, Message, Receive, Send, answer
from emulator.settings import LOOPBACK, Settings

HeaderMap: TypeAlias = dict[bytes, bytes]

_OTHER_SITES: Final = (b"cross-site", b"same-site")
_MOST_REMEMBERED: Final = 1024
_MOST_TOLD: Final = 100
_LONGEST_TOLD: Final = 200
_PREFLIGHT_SECONDS: Final = 600
_DECIDED_HERE: Final = frozenset(
    {b"access-control-allow-origin", b"access-control-allow-credentials", b"access-control-expose-headers"}
)


class Response(NamedTuple):
    """A whole response."""

    status: int
    headers: Headers
    body: bytes


class Admission(NamedTuple):
    """``hosts`` are the names of this sandbox, ``origins`` the pages that may use it, in lower case."""

    hosts: frozenset[str]
    origins: frozenset[str]
    token: str | None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """As the settings have it: loopback, the address to listen on, and what was allowed."""
        names = (*LOOPBACK, settings.host, *settings.allowed_hosts)
        return cls(
            frozenset(name.lower() for name in names),
            frozenset(origin.lower().rstrip("/") for origin in settings.allowed_origins),
            settings.token,
        )


@dataclass(frozen=True, slots=True)
class Door:
    """What a port has of its own: ``given`` is what of a request may be the token.

    ``needs_token`` is the port's answer to one without it, ``is_open`` whether a request needs none, and
    ``is_called`` whether clients of this port use a host name beside the sandbox's own.
    """

    name: str
    given: Callable[[HttpScope, HeaderMap], Iterable[bytes]]
    needs_token: Callable[[HttpScope, HeaderMap], Response]
    is_open: Callable[[HttpScope], bool] = lambda _scope: False
    is_called: Callable[[str], bool] = lambda _host: False


class Guard:
    """In front of a port's application.

    A request must name a host that is ours (a page that rebinds its own name to our address names another),
    and come from no other origin than the port's own and those that were allowed: a browser says in
    ``Origin`` which page asks and in ``Sec-Fetch-Site`` how far away that is. Where there is a token, it must
    carry that, and then any host name will do. What is refused as a page's gets 403 and nothing else, the
    same at every port; the event ``request.refused`` has the reason, once for each.
    """

    def __init__(self, app: App, door: Door, admission: Admission, events: Events) -> None:
        self._app = app
        self._door = door
        self._hosts, self._origins, token = admission
        self._token = token.encode() if token else None
        self._events = events
        self._known: set[bytes] = set()
        self._told: set[tuple[str, str]] = set()

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        headers: HeaderMap = dict(scope["headers"])
        browsed = b"origin" in headers or b"sec-fetch-site" in headers
        if browsed or self._token is not None or headers.get(b"host") not in self._known:
            refused = self._refused(scope, headers)
            page = self._allowed_page(headers) if browsed else None
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
        allowed = self._allowed_page(headers)
        if not allowed and (page := _foreign_page(headers, host)):
            return self._silent("origin", page, "--allow-origin")
        authorised = self._token is None or self._carries_token(scope, headers)
        if not (authorised and self._token) and not self._is_ours(host):
            return self._silent("host", host.decode("latin-1"), "--allow-host")
        if authorised or self._door.is_open(scope) or (allowed and _is_preflight(scope, headers)):
            return None
        return self._door.needs_token(scope, headers)

    def _is_ours(self, host: bytes) -> bool:
        if host in self._known:
            return True
        name = host_name(host.decode("latin-1").lower())
        ours = name in self._hosts or self._door.is_called(name)
        if ours and len(self._known) < _MOST_REMEMBERED:
            self._known.add(host)
        return ours

    def _carries_token(self, scope: HttpScope, headers: HeaderMap) -> bool:
        token = self._token or b""
        return any(hmac.compare_digest(given, token) for given in self._door.given(scope, headers))

    def _allowed_page(self, headers: HeaderMap) -> bytes | None:
        """The origin that asks, if it is one of those that may."""
        if not self._origins:
            return None
        origin = headers.get(b"origin") or _origin_of(headers.get(b"referer", b""))
        return origin if origin.decode("latin-1").lower() in self._origins else None

    def _silent(self, what: str, value: str, option: str) -> Response:
        """Tell the sandbox's user why, and the client nothing."""
        value = value[:_LONGEST_TOLD]
        if (what, value) not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add((what, value))
            self._events.emit(
                "request.refused",
                port=self._door.name,
                **{what: value},
                why=f"the {what} {value!r} is not this sandbox's; if it is meant to be, start with {option}",
            )
        return Response(HTTPStatus.FORBIDDEN, [(b"content-length", b"0")], b"")


def bearer(headers: HeaderMap) -> list[bytes]:
    """The token of ``Authorization: Bearer``, if there is one."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    return [token.strip()] if scheme.lower() == b"bearer" else []


def host_name(host: str) -> str:
    """The name in a Host header, without its port and an IPv6 address's brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _foreign_page(headers: HeaderMap, host: bytes) -> str | None:
    """The page of elsewhere that asks; None when none does."""
    origin = headers.get(b"origin")
    if origin is not None:
        return None if origin.lower() == b"http://" + host.lower() else origin.decode("latin-1")
    # Images, scripts, frames and links carry no origin.
    if headers.get(b"sec-fetch-site", b"").lower() in _OTHER_SITES:
        return (_origin_of(headers.get(b"referer", b"")) or b"of another site").decode("latin-1")
    return None


def _origin_of(url: bytes) -> bytes:
    try:
        parts = urlsplit(url.decode("latin-1"))
    except ValueError:
        return b""
    return f"{parts.scheme}://{parts.netloc}".encode("latin-1") if parts.netloc else b""


def _is_preflight(scope: HttpScope, headers: HeaderMap) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == "OPTIONS"
        and b"access-control-request-method" in headers
    )


def _preflight(headers: HeaderMap) -> Response:
    """Whatever the page asks for; that it may ask at all was looked at before."""
    said = [
        (b"access-control-allow-methods", headers[b"access-control-request-method"]),
        (b"access-control-max-age", b"%d" % _PREFLIGHT_SECONDS),
    ]
    if wanted := headers.get(b"access-control-request-headers"):
        said.append((b"access-control-allow-headers", wanted))
    if b"access-control-request-private-network" in headers:
        said.append((b"access-control-allow-private-network", b"true"))
    return Response(HTTPStatus.NO_CONTENT, said, b"")


def _readable_by(origin: bytes, send: Send) -> Send:
    """Answers as a page of this origin may read them, whatever the application thinks of pages."""
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
