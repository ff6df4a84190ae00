"""How a browser opens the control port's pages in a sandbox with a token.

A browser sends no header of ours when a person opens an address. So the watch page is opened once at
``/?token=...``; the answer sets a cookie and leads to the address without the token. The cookie opens what
the pages read and nothing else. Cookies are sent to every port of a host: another server of this machine that
gets hold of it can look, and change nothing.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterable
from dataclasses import replace
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Final, NamedTuple
from urllib.parse import parse_qs

from emulator.http.admission.guard import AccessPolicy, Response
from emulator.http.asgi import HttpScope
from rdss_sandbox.admission import HeaderMap

_ROOM: Final = (
    *("control_room", "form_fields", "sandbox_calls"),
    *("clock_panel", "fault_panel", "reject_panel", "sample_panel", "scenario_panel", "shard_panel"),
    "snapshot_panel",
)
WATCH_SCRIPTS: Final = tuple(f"{name}.js" for name in ("watch", *_ROOM))
"""The scripts of the watch page, by their names beside this file and below ``/``."""
PAGES: Final = frozenset(
    {
        "/",
        "/picture",
        "/learn",
        "/learn.js",
        "/docs",
        "/openapi.json",
        *(f"/{name}" for name in WATCH_SCRIPTS),
    }
)
"""What the cookie opens, with ``/runs`` and all below it."""
_WANTS: Final = b"This sandbox asks for its token. Open the address that this command prints: sandbox watch\n"


class PageCookie(NamedTuple):
    """The cookie for a token. Its name differs from that of other sandboxes on the same host."""

    name: str
    value: str

    @classmethod
    def of(cls, token: str) -> PageCookie:
        stamp = hmac.digest(token.encode(), b"watch page", "sha256").hex()
        return cls(f"rdss-sandbox-{stamp[:8]}", stamp[8:])


def admit_pages(
    policy: AccessPolicy,
    token: str | None,
    *,
    home: str = "/",
    pages: Collection[str] = PAGES,
    wants: bytes = _WANTS,
) -> AccessPolicy:
    """Have a policy take the token from the address of the page ``home``, and the cookie for it elsewhere.

    The cookie opens ``pages``, and the runs; ``wants`` tells a browser that has neither what to do.
    """
    if token is None:
        return policy
    cookie = PageCookie.of(token)

    def list_given(scope: HttpScope, headers: HeaderMap) -> Iterable[bytes]:
        yield from policy.given(scope, headers)
        path = scope["path"]
        if scope.get("method") == "GET" and (path in pages or f"{path}/".startswith("/runs/")):
            if path == home:
                yield from _read_query(scope)
            given = _read_cookie(headers, cookie.name)
            if hmac.compare_digest(given.encode(), cookie.value.encode()):
                yield token.encode()

    def ask_for_token(scope: HttpScope, headers: HeaderMap) -> Response:
        if b"text/html" not in headers.get(b"accept", b""):
            return policy.needs_token(scope, headers)
        asked = [(b"content-type", b"text/plain; charset=utf-8"), (b"www-authenticate", b"Bearer")]
        return Response(HTTPStatus.UNAUTHORIZED, asked, wants)

    return replace(policy, given=list_given, needs_token=ask_for_token)


def _read_query(scope: HttpScope) -> list[bytes]:
    query = parse_qs(scope["query_string"].decode("latin-1"))
    return [given.encode() for given in query.get("token", ())]


def _read_cookie(headers: HeaderMap, name: str) -> str:
    try:
        found = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""
