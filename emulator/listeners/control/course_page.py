"""``/learn``: the page that ``sandbox learn`` keeps in the directory of the sandbox, and follows there."""

from __future__ import annotations

from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from emulator.settings.settings import COURSE_PAGE, LOAD_AGAIN

_MADE_BY_THE_COURSE: Final = b'<meta name="generator" content="sandbox learn">'
"""A project may have a file of that name for something else."""
_LONGEST: Final = 4 << 20
_SCRIPT: Final = "/learn.js"
_FOLLOWING: Final = (
    (b"</head>", f'<script src="{_SCRIPT}" defer></script>\n</head>'.encode()),
    (LOAD_AGAIN.encode(), b'It follows your commands. <a href="/">To the running sandbox</a>'),
)
"""What stands in the page that is served, in place of what stands in the file."""
_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_NOT_BEGUN: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Learn to write a client</title>
<script src="{script}" defer></script>
<style>:root {{ color-scheme: light dark }} body {{ font: 1.1rem/1.6 system-ui, sans-serif; margin: 3rem auto;
max-width: 40rem; padding: 0 1rem }}</style>
</head>
<body>
<main>
<h1>Learn to write a client</h1>
<p>No lesson was started in the directory of this sandbox, <code>{directory}</code>. Type there:</p>
<pre><code>sandbox learn start 1</code></pre>
<p><a href="/">To the running sandbox</a></p>
</main>
</body>
</html>
"""


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
            if _MADE_BY_THE_COURSE in page:
                for kept, served in _FOLLOWING:
                    page = page.replace(kept, served, 1)
                return page
        return _NOT_BEGUN.format(script=_SCRIPT, directory=escape(str(self._directory.resolve()))).encode()
