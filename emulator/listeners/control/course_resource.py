"""``/learn``: the page that ``sandbox learn`` keeps in the directory of the sandbox, and follows there."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from emulator.pages.course import COURSE_FRAME, COURSE_PAGE, LOAD_AGAIN, MADE_BY_THE_COURSE
from emulator.pages.frame import CONTROL_PLACES

_LONGEST: Final = 4 << 20
_SCRIPT: Final = "/learn.js"
_FOLLOWING: Final = f'<script src="{_SCRIPT}" defer></script>\n'
_FRAME: Final = replace(COURSE_FRAME, places=CONTROL_PLACES, head=_FOLLOWING)
_SERVED: Final = (
    ("</head>", f"{_FOLLOWING}</head>"),
    (LOAD_AGAIN, "It follows your commands."),
    (COURSE_FRAME.header(), _FRAME.header()),
)
"""What stands in the page that is served, in place of what stands in the file."""
_HEADERS: Final = _FRAME.headers()
_TITLE: Final = "Learn to write a client"
_NOT_BEGUN: Final = """\
<h1>{title}</h1>
<div class="empty"><p>No lesson was started in the directory of this sandbox,
<code>{directory}</code>. Type there:</p>
<pre><code>sandbox learn start 1</code></pre></div>"""


class CoursePage:
    """``/learn``. It reads the page at each request, and shows how to begin where there is none."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def routes(self) -> list[Route]:
        return [Route("/learn", self._answer), Route(_SCRIPT, self._follow)]

    async def _answer(self, _: Request) -> Response:
        page = await run_in_threadpool(self._read)
        return Response(page, media_type="text/html", headers=_HEADERS)

    async def _follow(self, _: Request) -> Response:
        script = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
        return Response(script, media_type="text/javascript", headers=_HEADERS)

    def _read(self) -> bytes:
        # Links that go in a circle are a RuntimeError.
        with suppress(OSError, RuntimeError):
            file = (self._directory / COURSE_PAGE).resolve()
            inside = file.is_relative_to(self._directory.resolve()) and file.is_file()
            page = b""
            if inside:
                with file.open("rb") as opened:
                    page = opened.read(_LONGEST)
            if MADE_BY_THE_COURSE.encode() in page:
                for kept, served in _SERVED:
                    page = page.replace(kept.encode(), served.encode(), 1)
                return page
        body = _NOT_BEGUN.format(title=_TITLE, directory=escape(str(self._directory.resolve())))
        return _FRAME.render(_TITLE, body).encode()
