"""The server of the TUI in a browser: textual-serve with a page that loads nothing from other hosts."""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

import aiohttp_jinja2
import jinja2
from aiohttp import web
from textual_serve.server import Server

from rdss_sandbox.admission import Admission, foreign_page, host_name, is_ambiguous

_TITLE: Final = "RDSS sandbox"
_PAGE: Final = "app_index.html"
_FOREIGN: Final = re.compile(
    r"""<(?:link|script)\b[^>]*\b(?:href|src)\s*=\s*["'](?:https?:)?//[^>]*>(?:</script>)?"""
)
_FONT: Final = """<style>
      @font-face {
        font-family: "Roboto Mono";
        src: url("{{ config.static.url }}fonts/RobotoMono-VariableFont_wght.ttf");
      }
    </style>"""
"""The page loads this font from Google; textual-serve ships the same font among its files."""


class _OfflinePage(jinja2.FileSystemLoader):
    """Loads the templates of textual-serve without their links to other hosts."""

    def get_source(
        self, environment: jinja2.Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        source, path, fresh = super().get_source(environment, template)
        return _FOREIGN.sub("", source).replace("</head>", f"{_FONT}\n</head>"), path, fresh


class OfflineServer(Server):
    """textual-serve behind ``admission``; ``ready`` is called with the page's address at start-up."""

    def __init__(
        self, command: str, host: str, port: int, admission: Admission, ready: Callable[[str], None]
    ) -> None:
        super().__init__(command, host=host, port=port, title=_TITLE)
        self._admission = admission
        self._ready = ready

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        aiohttp_jinja2.get_env(app).loader = _OfflinePage(self.templates_path)
        app.middlewares.append(page_guard(self._admission))
        app.on_response_prepare.append(strip_refusal_headers)
        return app

    async def on_startup(self, _app: web.Application) -> None:
        self._ready(self.public_url)

    @aiohttp_jinja2.template(_PAGE)
    async def handle_index(self, request: web.Request) -> dict[str, Any]:
        """The variables of the page's template; its addresses have the host that the browser used."""
        size = request.query.get("fontsize", "16")
        scheme = "wss" if request.secure else "ws"
        return {
            "font_size": int(size) if size.isascii() and size.isdecimal() else 16,
            "app_websocket_url": f"{scheme}://{request.host}{request.app.router['websocket'].url_for()}",
            "config": {"static": {"url": "/static/"}},
            "application": {"name": self.title},
        }


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
