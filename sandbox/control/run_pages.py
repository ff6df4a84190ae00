"""``/runs``: the recorded runs in the directory of the sandbox, with the pages that commands wrote there.

A file is taken as foreign: of its scripts only those run that the sandbox itself writes into pages.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from emulator.pages.frame import CONTROL_PLACES, COPY_BUTTONS, PageFrame
from sandbox.judging.runs import RUNS

if TYPE_CHECKING:
    from emulator.assembly.components import Components

_LONGEST: Final = 64 << 20
_HEADER: Final = re.compile(rb'<header class="site">.*?</header>', re.DOTALL)
_HERE: Final = re.compile(rb'aria-current="page">([^<]*)<')


class RunPages:
    """``/runs/`` and the HTML files below the folder of runs. Each is read at its request."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs

    def routes(self) -> list[Route]:
        return [
            Route("/runs", self._lead),
            Route("/runs/", self._list),
            Route("/runs/index.html", self._list),
            Route("/runs/{file:path}", self._show),
        ]

    async def _lead(self, _: Request) -> Response:
        return RedirectResponse("/runs/")

    async def _list(self, _: Request) -> Response:
        return await run_in_threadpool(self._render_index)

    def _render_index(self) -> Response:
        # Few sandboxes are asked for it, and its template engine would be a tenth of a second of every start.
        from sandbox.judging.run_index import SERVED_FRAME, index_page, read_pages, read_runs

        page = index_page(read_runs(self._runs), read_pages(self._runs), SERVED_FRAME)
        return Response(page, media_type="text/html", headers=SERVED_FRAME.headers())

    async def _show(self, request: Request) -> Response:
        page = await run_in_threadpool(self._read, unquote(request.path_params["file"]))
        if page is None:
            raise HTTPException(404)
        return Response(page, media_type="text/html", headers=_headers())

    def _read(self, name: str) -> bytes | None:
        """The page with the header of this port; None for what is no page of this folder."""
        try:
            file = (self._runs / name).resolve()
            if file.suffix != ".html" or not file.is_relative_to(self._runs.resolve()):
                return None
            with file.open("rb") as opened:
                page = opened.read(_LONGEST + 1)
        # Links that go in a circle are a RuntimeError, a name with a zero byte is a ValueError.
        except (OSError, RuntimeError, ValueError):
            return None
        if len(page) > _LONGEST:
            return None
        here = found[1].decode(errors="replace") if (found := _HERE.search(page)) else "Runs"
        header = PageFrame(here=here, places=CONTROL_PLACES).header().encode()
        return _HEADER.sub(lambda _: header, page, count=1)


@cache
def _headers() -> dict[str, str]:
    from sandbox.scenarios.replay.replay_section import SCRIPT

    pages = (PageFrame(here="", scripts=each) for each in ((), (COPY_BUTTONS,), (SCRIPT,)))
    scripts = " ".join(page.script_source() for page in pages)
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    )
    return PageFrame(here="Runs").headers() | {"content-security-policy": policy}


def run_pages(_: Components) -> RunPages:
    """The pages of the directory that the sandbox runs in."""
    return RunPages(RUNS)
