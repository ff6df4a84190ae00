"""The control API's routes: the server and the OpenAPI description are both built from them."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from emulator.archive.audit_objects import BucketUnreadableError
from emulator.journal import DamagedLogError, no_space
from emulator.kinesis.errors import KinesisError
from rdss_sandbox.message_filter import FilterError
from rdss_sandbox.shapes.refusals import Problem, Refusal

Query = TypeVar("Query")
Body = TypeVar("Body")

JSON = "application/json"
_encode = msgspec.json.Encoder().encode


class ApiError(Exception):
    """A refused request: the HTTP status, a code for programs, and a sentence for people."""

    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An empty query or body."""


@dataclass(frozen=True, slots=True)
class Asked(Generic[Query, Body]):
    """A parsed request: the variable parts of its path, its query, and its body."""

    path: dict[str, str]
    query: Query
    body: Body
    request: Request


Handler: TypeAlias = Callable[[Asked[Any, Any]], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path. ``run`` returns an ``answer``, or a Response.

    A plain function runs on a thread; a coroutine function runs in the event loop.
    """

    method: str
    path: str
    summary: str
    run: Handler
    answer: Any
    query: type[msgspec.Struct] = Nothing
    body: Any = None
    status: HTTPStatus = HTTPStatus.OK
    most_bytes: int = 1 << 20
    about: str = ""

    def endpoint(self, failed: Callable[[Exception], None]) -> StarletteRoute:
        """The route for Starlette. ``failed`` receives unexpected errors."""

        async def answer(request: Request) -> Response:
            try:
                return await self._respond(request)
            except Exception as error:  # noqa: BLE001 -- every error becomes an answer
                return refusal(error, failed)

        return StarletteRoute(self.path, answer, methods=[self.method], name=f"{self.method} {self.path}")

    async def _respond(self, request: Request) -> Response:
        asked = Asked(
            dict(request.path_params),
            msgspec.convert(dict(request.query_params), self.query, strict=False),
            await self._read_body(request),
            request,
        )
        if inspect.iscoroutinefunction(self.run):
            answer = await self.run(asked)
        else:
            answer = await run_in_threadpool(self.run, asked)
        if isinstance(answer, Response):
            return answer
        return Response(_encode(answer), self.status, media_type=JSON)

    async def _read_body(self, request: Request) -> Any:
        if self.body is None:
            return None
        pieces, size = [], 0
        async for piece in request.stream():
            pieces.append(piece)
            size += len(piece)
            if size > self.most_bytes:
                raise ApiError(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    "too_large",
                    f"a body here is {self.most_bytes >> 20} MiB at most",
                )
        return msgspec.json.decode(b"".join(pieces) or b"null", type=self.body)


def refusal(error: Exception, failed: Callable[[Exception], None]) -> Response:
    """The response for an error. ``failed`` receives an unexpected one."""
    match error:
        case ApiError():
            status, code = error.status, error.code
        case KinesisError():
            missing = error.code == "ResourceNotFoundException"
            status, code = HTTPStatus.NOT_FOUND if missing else HTTPStatus(error.status), error.code
        case BucketUnreadableError():
            status, code = HTTPStatus.BAD_GATEWAY, "bucket_unreadable"
        case FilterError():
            status, code = HTTPStatus.BAD_REQUEST, "bad_filter"
        case msgspec.MsgspecError() | UnicodeDecodeError():
            status, code = HTTPStatus.BAD_REQUEST, "bad_request"
        case OSError() | sqlite3.OperationalError() if no_space(error):
            status, code = HTTPStatus.INSUFFICIENT_STORAGE, "no_space"
        case DamagedLogError():
            status, code = HTTPStatus.SERVICE_UNAVAILABLE, "damaged"
        case _:
            failed(error)
            status, code = HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error"
            error = RuntimeError("the sandbox failed at this request; the event request.failed says how")
    message = error.message if isinstance(error, KinesisError) else str(error)
    return Response(_encode(Refusal(Problem(code, message))), status, media_type=JSON)


def build_routes(routes: Iterable[Route], failed: Callable[[Exception], None]) -> list[StarletteRoute]:
    """Build Starlette's routes, with fixed paths before those with variable parts."""
    ordered = sorted(routes, key=lambda route: route.path.count("{"))
    return [route.endpoint(failed) for route in ordered]
