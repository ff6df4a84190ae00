"""The control API for its readers: the OpenAPI document and the page, made from the declarations."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rdss_sandbox.api.endpoint import JSON
from rdss_sandbox.machine.installation import explain_missing

if TYPE_CHECKING:
    from emulator.listeners.control.openapi import Described


class ApiDocumentation:
    """``/openapi.json``, and the page at ``/docs``. A start does not wait for their imports."""

    def __init__(self, endpoints: Iterable[Described], version: str) -> None:
        self._endpoints = tuple(endpoints)
        self._version = version
        self._describe = lru_cache(maxsize=4)(self._describe_at)

    def routes(self) -> list[Route]:
        return [
            Route("/openapi.json", self._answer_openapi),
            Route("/docs", self._answer_page),
        ]

    async def _answer_openapi(self, request: Request) -> Response:
        description = await run_in_threadpool(self._describe, str(request.base_url))
        return Response(msgspec.json.encode(description), media_type=JSON)

    async def _answer_page(self, request: Request) -> Response:
        try:
            from emulator.listeners.control.api_page import HEADERS, render_page
        except ModuleNotFoundError as error:
            line = f"{explain_missing(error)}\nWithout it, GET /openapi.json has the same for programs.\n"
            return Response(line, HTTPStatus.NOT_IMPLEMENTED, media_type="text/plain")

        page = await run_in_threadpool(lambda: render_page(self._describe(str(request.base_url))))
        return Response(page, media_type="text/html", headers=HEADERS)

    def _describe_at(self, url: str) -> dict[str, Any]:
        from emulator.listeners.control.openapi import describe_api

        return describe_api(self._endpoints, self._version, url.rstrip("/"))
