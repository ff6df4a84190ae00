"""The control API: an ASGI application built from the handlers of its endpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from emulator.http.asgi import App
from emulator.listeners.control.api_documentation import ApiDocumentation
from emulator.listeners.control.course_resource import CoursePage
from emulator.listeners.control.endpoint_routing import JSON, list_handlers, route_by_segments
from emulator.listeners.control.watch.watch_page import WatchPage
from rdss_sandbox.shapes.refusals import Problem, Refusal

__all__ = ["control_app"]


@runtime_checkable
class ServedPages(Protocol):
    """Pages for a browser. They are not part of the API."""

    def routes(self) -> list[Route]: ...


def control_app(
    resources: Iterable[object],
    version: str,
    failed: Callable[[Exception], None] = lambda _: None,
    token: str | None = None,
) -> App:
    """Build the application from the handlers and the pages that the resources have.

    ``failed`` receives unexpected errors, which a client sees as a 500. ``token`` is the one that the port
    asks for; the pages of the port are then opened with it.
    """
    resources = [*resources]
    handlers = list_handlers(resources)
    documents = ApiDocumentation([handler.endpoint for handler in handlers], version)
    return route_by_segments(
        Starlette(
            routes=[
                *WatchPage(token).routes(),
                *CoursePage(Path()).routes(),
                *documents.routes(),
                *(route for each in resources if isinstance(each, ServedPages) for route in each.routes()),
                *(handler.build_route(failed) for handler in handlers),
            ],
            exception_handlers={HTTPException: _refuse_unknown},
        )
    )


async def _refuse_unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.scope["path"]
    if error.status_code == 405:
        problem = Problem(
            "method_not_allowed", f"{path} takes no {request.method}; GET /docs lists what it takes"
        )
    else:
        problem = Problem("not_found", f"there is nothing at {path}; GET /docs lists what is")
    return Response(
        msgspec.json.encode(Refusal(problem)), error.status_code, headers=error.headers, media_type=JSON
    )
