"""The control API: an ASGI application made of the resources it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Protocol

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from emulator.listeners.control.openapi import document
from emulator.listeners.control.routing import JSON, Route, endpoints
from rdss_sandbox.shapes.refusals import Problem, Refusal

__all__ = ["Resources", "Route", "control_app"]


class Resources(Protocol):
    """A part of the API."""

    def routes(self) -> list[Route]: ...


def control_app(
    resources: Iterable[Resources], version: str, failed: Callable[[Exception], None] = lambda _: None
) -> Starlette:
    """The application; ``failed`` is told of errors that nobody foresaw, which a client sees as a 500."""
    routes = [route for part in resources for route in part.routes()]

    @cache
    def description() -> bytes:
        # A tenth of a second, for the few who ask.
        return msgspec.json.encode(document(routes, version))

    async def describe(_: Request) -> Response:
        return Response(await run_in_threadpool(description), media_type=JSON)

    return Starlette(
        routes=[StarletteRoute("/openapi.json", describe), *endpoints(routes, failed)],
        exception_handlers={HTTPException: _no_route},
    )


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        problem = Problem("method_not_allowed", f"{request.method} {request.url.path} is not to be had here")
    else:
        problem = Problem(
            "not_found", f"there is nothing at {request.url.path}; GET /openapi.json lists what is"
        )
    return Response(
        msgspec.json.encode(Refusal(problem)), error.status_code, headers=error.headers, media_type=JSON
    )
