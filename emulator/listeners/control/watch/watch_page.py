"""The watch page at ``/``: a page, scripts and style sheets, which load nothing from elsewhere."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from emulator.listeners.control.watch.page_access import WATCH_FILES, PageCookie
from emulator.pages.frame import page_headers

_FILES: Final = {"/": "watch.html", **{f"/{name}": name for name in WATCH_FILES}}
_TYPES: Final = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
_HEADERS: Final = page_headers("script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src data:")


class WatchPage:
    """``/`` and its files. ``/?token=...`` leads to ``/`` with a cookie where the port has a ``token``."""

    def __init__(self, token: str | None) -> None:
        self._cookie = PageCookie.of(token) if token else None

    def routes(self) -> list[Route]:
        return [Route(path, self._answer) for path in _FILES]

    async def _answer(self, request: Request) -> Response:
        if "token" in request.query_params:
            answer = RedirectResponse("/", 303, headers=_HEADERS)
            if self._cookie:
                answer.set_cookie(self._cookie.name, self._cookie.value, httponly=True, samesite="strict")
            return answer
        name = _FILES[request.scope["path"]]
        return Response(_read(name), media_type=_TYPES[Path(name).suffix], headers=_HEADERS)


@lru_cache
def _read(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
