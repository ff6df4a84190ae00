"""Binds handlers to the endpoints that ``rdss_sandbox.api`` declares, and words refusals."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any, Final, ParamSpec, TypeVar
from urllib.parse import quote, unquote

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from emulator.archive.audit_objects import BucketUnreadableError
from emulator.http.asgi import App, HttpScope, Receive, Send
from emulator.journal import DamagedLogError, no_space
from emulator.kinesis.errors import KinesisError
from emulator.settings.wrong_values import explain_value
from rdss_sandbox.api.endpoint import Endpoint
from rdss_sandbox.machine.installation import explain_missing
from rdss_sandbox.questions.message_filter import FilterError
from rdss_sandbox.shapes.refusals import Problem, Refusal

Wire = TypeVar("Wire")
Arguments = ParamSpec("Arguments")

JSON: Final = "application/json"
_ASCII: Final = bytes(range(128))
_encode = msgspec.json.Encoder().encode


class ApiError(Exception):
    """A refused request: the HTTP status, a code for programs, and a sentence for people."""

    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@contextmanager
def translate_errors(*kinds: tuple[type[Exception], HTTPStatus, str]) -> Iterator[None]:
    """Raise errors of these kinds as ApiError, each with its status and code; the first that fits counts."""
    try:
        yield
    except tuple(kind for kind, *_ in kinds) as error:
        status, code = next((status, code) for kind, status, code in kinds if isinstance(error, kind))
        # A KeyError shows its text in quotation marks.
        why = str(error.args[0]) if isinstance(error, KeyError) else str(error)
        raise ApiError(status, code, why) from error


def handles(
    endpoint: Endpoint[..., Wire, Any, Any],
) -> Callable[
    [Callable[Arguments, Wire | Response | Coroutine[Any, Any, Wire | Response]]], Callable[Arguments, Any]
]:
    """Have a method answer the requests to an endpoint. It takes the endpoint's parameters, by name.

    A parameter ``request`` is the request itself. A plain method runs on a thread, a coroutine in the event
    loop.
    """

    def mark(run: Callable[Arguments, Any]) -> Callable[Arguments, Any]:
        vars(run)["handles"] = endpoint
        return run

    return mark


@dataclass(frozen=True)
class Handler:
    """An endpoint and what answers its requests."""

    endpoint: Endpoint[..., Any, Any, Any]
    run: Callable[..., Any]

    def build_route(self, failed: Callable[[Exception], None]) -> Route:
        """The route for Starlette. ``failed`` receives unexpected errors."""

        async def answer(request: Request) -> Response:
            try:
                return await self._respond(request)
            except Exception as error:  # noqa: BLE001 -- every error becomes an answer
                return refusal(error, failed)

        return Route(self.endpoint.path, answer, methods=[self.endpoint.method])

    async def _respond(self, request: Request) -> Response:
        endpoint = self.endpoint
        asked = dict(request.query_params)
        try:
            query = msgspec.convert(asked, self._query, strict=False)
        except msgspec.ValidationError as error:
            raise _wrong(error, asked, self._query, "the query") from error
        given = {**self._read_path(request), **msgspec.structs.asdict(query)}
        if endpoint.body is not None:
            given[endpoint.body.name] = _decode(await self._read_body(request) or b"null", endpoint.body.type)
        if "request" in self._parameters:
            given["request"] = request
        if inspect.iscoroutinefunction(self.run):
            answer = await self.run(**given)
        else:
            answer = await run_in_threadpool(self.run, **given)
        if isinstance(answer, Response):
            return answer
        return Response(_encode(answer), endpoint.status, media_type=JSON)

    @cached_property
    def _parameters(self) -> Collection[str]:
        return inspect.signature(self.run).parameters

    @cached_property
    def _query(self) -> type[msgspec.Struct]:
        parameters = self.endpoint.query
        return msgspec.defstruct(
            "Query",
            [(each.name, each.type, each.default) for each in parameters],
            rename={each.name: each.sent_as for each in parameters},
            frozen=True,
            forbid_unknown_fields=True,
            kw_only=True,
        )

    def _read_path(self, request: Request) -> dict[str, Any]:
        """The variables of the path. What cannot be one of them is not there."""
        found = {}
        for each in self.endpoint.variables:
            sent = unquote(request.path_params[each.sent_as])
            try:
                found[each.name] = msgspec.convert(sent, each.type, strict=False)
            except msgspec.ValidationError as error:
                missing = (
                    code for code, status in self.endpoint.errors.items() if status == HTTPStatus.NOT_FOUND
                )
                _, why = explain_value(error, sent, each.type, whole=each.sent_as)
                message = f"there is nothing at {request.scope['path']}: {why}"
                raise ApiError(HTTPStatus.NOT_FOUND, next(missing, "not_found"), message) from error
        return found

    async def _read_body(self, request: Request) -> bytes:
        pieces, size, most = [], 0, self.endpoint.most_bytes
        async for piece in request.stream():
            pieces.append(piece)
            size += len(piece)
            if size > most:
                message = f"a body here is {most >> 20} MiB at most"
                raise ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", message)
        return b"".join(pieces)


def _decode(body: bytes, shape: Any) -> Any:
    """The body of a request, in JSON. Raises ApiError, which says what is wrong with which part of it."""
    try:
        try:
            return msgspec.json.decode(body, type=shape)
        except msgspec.ValidationError as error:
            # What is behind a wrong value may not be JSON.
            raise _wrong(error, msgspec.json.decode(body), shape, "the body") from error
    except msgspec.DecodeError as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, "bad_request", f"the body is not JSON: {error}") from error


def _wrong(error: msgspec.ValidationError, given: Any, shape: Any, whole: str) -> ApiError:
    _, why = explain_value(error, given, shape, whole=whole, objects="an object")
    return ApiError(HTTPStatus.BAD_REQUEST, "bad_request", why)


def route_by_segments(app: App) -> App:
    """Have the application see the path in its segments as they were sent, each with ``%`` and ``/`` quoted.

    A slash that is quoted in a segment is part of a name; decoded, it would lead to another path. Starlette
    wants a query in UTF-8, so bytes beyond ASCII are quoted.
    """

    async def routed(scope: HttpScope, receive: Receive, send: Send) -> None:
        sent = (scope.get("raw_path") or quote(scope["path"]).encode()).decode("latin-1")
        segments = (unquote(each).replace("%", "%25").replace("/", "%2F") for each in sent.split("/"))
        query = quote(scope["query_string"], safe=_ASCII).encode()
        await app({**scope, "path": "/".join(segments), "query_string": query}, receive, send)

    return routed


def list_handlers(resources: Iterable[object]) -> list[Handler]:
    """The methods of these objects that ``handles`` marked, with fixed paths before variable ones."""
    found = (
        Handler(run.handles, getattr(each, name))
        for each in resources
        for name, run in inspect.getmembers_static(type(each), lambda member: hasattr(member, "handles"))
    )
    return sorted(found, key=lambda handler: handler.endpoint.path.count("{"))


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
        case msgspec.MsgspecError() | UnicodeDecodeError() | RecursionError():
            status, code = HTTPStatus.BAD_REQUEST, "bad_request"
        case OSError() | sqlite3.OperationalError() if no_space(error):
            status, code = HTTPStatus.INSUFFICIENT_STORAGE, "no_space"
        case DamagedLogError():
            status, code = HTTPStatus.SERVICE_UNAVAILABLE, "damaged"
        case ModuleNotFoundError() if line := explain_missing(error):
            status, code = HTTPStatus.NOT_IMPLEMENTED, "not_installed"
            error = RuntimeError(line)
        case _:
            failed(error)
            status, code = HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error"
            error = RuntimeError("the sandbox failed at this request; the event request.failed says how")
    message = error.message if isinstance(error, KinesisError) else str(error)
    return Response(_encode(Refusal(Problem(code, message))), status, media_type=JSON)
