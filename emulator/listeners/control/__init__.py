"""The control API: an ASGI application built from resources."""

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

from emulator.listeners.control.openapi import describe_api
from emulator.listeners.control.routing import JSON, Route, build_routes
from rdss_sandbox.shapes.refusals import Problem, Refusal

__all__ = ["Resources", "Route", "control_app"]


class Resources(Protocol):
    """A group of the API's routes."""

    def routes(self) -> list[Route]: ...


def control_app(
    resources: Iterable[Resources], version: str, failed: Callable[[Exception], None] = lambda _: None
) -> Starlette:
    """Build the application. ``failed`` receives unexpected errors, which a client sees as a 500."""
    routes = [route for part in resources for route in part.routes()]

    @cache
    def description() -> bytes:
        # It takes a tenth of a second, so it is built at the first request.
        return msgspec.json.encode(describe_api(routes, version))

    async def describe(_: Request) -> Response:
        return Response(await run_in_threadpool(description), media_type=JSON)

    return Starlette(
        routes=[StarletteRoute("/openapi.json", describe), *build_routes(routes, failed)],
        exception_handlers={HTTPException: _refuse_unknown},
    )


async def _refuse_unknown(request: Request, error: Exception) -> Response:
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
