"""Access control of the TUI in a browser; it admits the same requests as the sandbox's own ports."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web

from rdss_sandbox.admission import Admission, foreign_page, host_name, is_ambiguous

_COOKIE: Final = "rdss-sandbox"


async def strip_refusal_headers(_request: web.Request, answer: web.StreamResponse) -> None:
    """Remove the headers of a refusal that would identify the server."""
    if answer.status == HTTPStatus.FORBIDDEN:
        for name in ("Server", "Content-Type", "Date"):
            answer.headers.popall(name, None)


def page_guard(admission: Admission) -> Any:
    """Build the middleware that admits or refuses a request.

    With a token, the page is first opened at ``/?token=...``. The answer sets a cookie derived from the token
    and redirects to the page without it, so the token does not stay in the browser's address bar.
    """
    stamp = hmac.digest(admission.token.encode(), b"page", "sha256").hex() if admission.token else None

    @web.middleware
    async def guard(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        given_headers = [(name.lower(), value) for name, value in request.raw_headers]
        headers = dict(given_headers)
        given = request.query.get("token", "") if stamp else ""
        entering = bool(given) and hmac.compare_digest(given.encode(), (admission.token or "").encode())
        known = stamp is not None and hmac.compare_digest(
            request.cookies.get(_COOKIE, "").encode(), stamp.encode()
        )
        ours = entering or known or host_name(headers.get(b"host", b"")) in admission.hosts
        if is_ambiguous(given_headers) or foreign_page(headers) or not ours:
            return web.Response(status=HTTPStatus.FORBIDDEN)
        if entering and stamp:
            answer = web.Response(status=303, headers={"location": request.path})
            answer.set_cookie(_COOKIE, stamp, httponly=True, samesite="Lax")
            return answer
        if stamp and not known:
            return web.Response(status=401, text="Open the address with ?token=..., as it was printed.\n")
        return await handler(request)

    return guard
