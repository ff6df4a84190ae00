"""The watch page at ``/`` and its scripts, which load nothing from elsewhere."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from emulator.listeners.control.watch.page_access import WATCH_SCRIPTS, PageCookie
from emulator.pages.frame import CONTROL_PLACES, PageFrame

_HERE: Final = Path(__file__).parent
_FRAME: Final = PageFrame(
    here="Watch",
    places=CONTROL_PLACES,
    styles=(_HERE / "watch.css", _HERE / "control_room.css"),
    sources=("'self'",),
    allow=("connect-src 'self'",),
    head='<script src="/watch.js" defer></script>\n<script src="/control_room.js" type="module"></script>\n',
)


class WatchPage:
    """``/`` and its scripts. ``/?token=...`` leads to ``/`` with a cookie where the port has a ``token``."""

    def __init__(self, token: str | None) -> None:
        self._cookie = PageCookie.of(token) if token else None

    def routes(self) -> list[Route]:
        scripts = [Route(f"/{name}", self._answer_script) for name in WATCH_SCRIPTS]
        return [Route("/", self._answer), *scripts]

    async def _answer(self, request: Request) -> Response:
        page, headers = _render()
        if "token" in request.query_params:
            answer = RedirectResponse("/", 303, headers=headers)
            if self._cookie:
                secure = request.url.scheme == "https"
                answer.set_cookie(
                    self._cookie.name, self._cookie.value, secure=secure, httponly=True, samesite="strict"
                )
            return answer
        return Response(page, media_type="text/html", headers=headers)

    async def _answer_script(self, request: Request) -> Response:
        script = _read(request.scope["path"][1:])
        return Response(script, media_type="text/javascript", headers=_render()[1])


@lru_cache
def _render() -> tuple[str, dict[str, str]]:
    return _FRAME.render("RDSS sandbox, live", _read("watch.html")), _FRAME.headers()


@lru_cache
def _read(name: str) -> str:
    return _HERE.joinpath(name).read_text(encoding="utf-8")
