"""``/learn``: the page that ``sandbox learn`` keeps in the directory of the sandbox."""

from __future__ import annotations

from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from emulator.settings.settings import COURSE_PAGE

_MADE_BY_THE_COURSE: Final = b'<meta name="generator" content="sandbox learn">'
"""A project may have a file of that name for something else."""
_LONGEST: Final = 4 << 20
_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
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
<style>:root {{ color-scheme: light dark }} body {{ font: 1.1rem/1.6 system-ui, sans-serif; margin: 3rem auto;
max-width: 40rem; padding: 0 1rem }}</style>
</head>
<body>
<main>
<h1>Learn to write a client</h1>
<p>No lesson was started in the directory of this sandbox, <code>{directory}</code>. Type there:</p>
<pre><code>sandbox learn start 1</code></pre>
<p>Then load this page again.</p>
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
        return [Route("/learn", self._answer)]

    async def _answer(self, _: Request) -> Response:
        page = await run_in_threadpool(self._read)
        return Response(page, media_type="text/html", headers=_HEADERS)

    def _read(self) -> bytes:
        with suppress(OSError), (self._directory / COURSE_PAGE).open("rb") as file:
            page = file.read(_LONGEST)
            if _MADE_BY_THE_COURSE in page:
                return page
        return _NOT_BEGUN.format(directory=escape(str(self._directory.resolve()))).encode()
