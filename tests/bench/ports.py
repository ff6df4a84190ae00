"""The HTTP server of every port beside uvicorn's, in front of one application: one connection, loopback.

``python -m tests.bench.ports PORT SERVER`` serves the application.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from statistics import median
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from emulator.clock import stopwatch
from emulator.http.server import serve
from tests.bench.load import Connection
from tests.bench.rows import US, Row
from tests.bench.subjects import HOME, Start, Subject, running

REQUESTS: Final = 5_000
ROUNDS: Final = 3
_UVICORN: Final = "uvicorn"
_NOTHING: Final = "nothing"
_HEAD: Final = (
    b"%b / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
)
_SIZES: Final = {
    "a short request, p50": 0,
    "a request of 20 KB, p50": 20_000,
    "a request of 500 KB, p50": 500_000,
}


async def _answer(request: Request) -> Response:
    return Response(b'{"bytes": %d}' % len(await request.body()), media_type="application/json")


def measure(requests: int = REQUESTS, rounds: int = ROUNDS) -> Iterator[Row]:
    """The servers in turn, several times; of each the least of its medians."""
    found: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
        for name in (US, _UVICORN, _NOTHING):
            with running(Subject(name, _start_as(name))) as process:
                assert process is not None
                for measured, size in _SIZES.items():
                    count = max(requests * 1_000 // (size + 1_000), 100)
                    found.setdefault((measured, name), []).append(_median_seconds(process.port, size, count))
    for (measured, name), seconds in found.items():
        yield Row(measured, name, min(seconds) * 1_000, "ms")


def _start_as(name: str) -> Callable[[int], Start]:
    module = "tests.bench.nothing" if name == _NOTHING else "tests.bench.ports"
    return lambda port: Start(
        [sys.executable, "-m", module, str(port), name], {"PYTHONPATH": str(HOME.parent)}
    )


def _median_seconds(port: int, size: int, count: int) -> float:
    request = _HEAD % (b"POST" if size else b"GET", size) + bytes(size)
    took = []
    with Connection(port) as connection:
        for _ in range(count):
            began = stopwatch()
            connection.send(request)
            took.append(stopwatch() - began)
    return median(took)


async def _serve(port: int, name: str) -> None:
    app = Starlette(routes=[Route("/", _answer, methods=["GET", "POST"])])
    if name == _UVICORN:
        import uvicorn

        config = uvicorn.Config(app, port=port, http="httptools", log_level="error", access_log=False)
        await uvicorn.Server(config).serve()
    else:
        await serve(app, "127.0.0.1", port)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), sys.argv[2]))
