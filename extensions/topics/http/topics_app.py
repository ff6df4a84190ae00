"""The endpoints of the topics port: a WebSocket, commands in requests, events, and a downstream's log."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Route, Router, WebSocketRoute

from emulator.http.asgi import BodyTooLongError, ClientGoneError, HttpScope, Receive, Send, whole_body
from emulator.listeners.control.endpoint_routing import JSON, ApiError, refusal
from extensions.topics.engine.replication import DownstreamPosition, Shipment
from extensions.topics.engine.topics_engine import NameInUseError
from extensions.topics.http.command_requests import execute_commands, read_body, read_query
from extensions.topics.http.conversation import BadCommandError, Conversation
from extensions.topics.http.event_streams import follow
from extensions.topics.http.faults import TopicFaults
from extensions.topics.http.socket import converse
from extensions.topics.http.unsent_messages import UnsentMessages
from extensions.topics.topic_configuration import User
from extensions.topics.topics_service import TopicService
from rdss_sandbox.shapes.topics import OURS

_SOCKET: Final = "/topics/ws"
_COMMANDS: Final = "/topics/commands"
_MESSAGES: Final = "/topics/messages"
_REPLICATION: Final = "/topics/replication"
_DIRECTIONS: Final = (
    f"a WebSocket is at {_SOCKET}, POST {_COMMANDS} takes commands and GET {_MESSAGES} subscribes"
)


_ANYBODY: Final = "anonymous"
_MOST_BYTES: Final = 1 << 25
"""The most that a shipment of an upstream sandbox's log has."""
_decode: Final = msgspec.json.Decoder(Shipment).decode
_encode: Final = msgspec.json.Encoder().encode


async def receive_shipment(service: TopicService, user: str, receive: Receive) -> Response:
    """Receive a shipment as ``user``. Raises ApiError for one that is not valid."""
    try:
        shipment = _decode(await whole_body(receive, _MOST_BYTES))
    except BodyTooLongError:
        why = f"a shipment has {_MOST_BYTES >> 20} MiB at most"
        raise ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", why) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, "bad_shipment", str(error)) from None
    # A long shipment would block the event loop.
    position = await asyncio.to_thread(_receive, service, user, shipment)
    return Response(_encode(position), HTTPStatus.OK, media_type=JSON)


def _receive(service: TopicService, user: str, shipment: Shipment) -> DownstreamPosition:
    return service.open().replication.receive(user, shipment)


class Users:
    """Identifies users: ``configured`` ones by bearer tokens, and where none are, by the name they give."""

    def __init__(self, configured: tuple[User, ...]) -> None:
        self._configured = configured

    def identify(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """Return the user's name. Raises ApiError for an unknown token and for a reserved name."""
        if self._configured:
            given = headers.get("authorization", "").encode()
            for user in self._configured:
                if hmac.compare_digest(given, f"Bearer {user.token}".encode()):
                    return user.name
            why = "topics ask for a user's token here: authorization: Bearer <token>"
            raise ApiError(HTTPStatus.UNAUTHORIZED, "token_needed", why)
        name = headers.get("x-user-id") or query.get("user_id") or _ANYBODY
        if name == OURS:
            raise ApiError(HTTPStatus.FORBIDDEN, "reserved_user", f"the user {name!r} is the sandbox itself")
        return name


@dataclass(frozen=True)
class _Endpoint:
    """An endpoint that gets ``receive`` and ``send`` as they are; Starlette wraps those of a function."""

    run: Callable[[HttpScope, Receive, Send], Awaitable[None]]

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        await self.run(scope, receive, send)


class TopicsPort:
    """An ASGI application over ``service``. ``failed`` is called with unexpected errors."""

    def __init__(self, service: TopicService, failed: Callable[[Exception], None]) -> None:
        self._service = service
        self._failed = failed
        self._users = Users(service.configuration.users)
        self._faults = TopicFaults(service.fault_engine, service.clock)
        self._streams: set[UnsentMessages] = set()
        routes = [
            WebSocketRoute(_SOCKET, _Endpoint(self._converse)),
            Route(_COMMANDS, _Endpoint(self._execute_commands), methods=["POST"]),
            Route(_MESSAGES, _Endpoint(self._follow)),
            Route(_REPLICATION, _Endpoint(self._receive_shipment), methods=["POST"]),
        ]
        self._router = Router(routes, redirect_slashes=False, default=_refuse_unknown)

    def close(self) -> None:
        """End every stream of events. A server that stops tells the WebSockets itself."""
        for outbox in tuple(self._streams):
            outbox.close("stopped")

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        # With an application in the scope, Starlette raises for a wrong method.
        scope["app"] = self
        try:
            await self._router(scope, receive, send)
        except ClientGoneError:
            raise
        except Exception as error:  # noqa: BLE001 -- every error becomes an answer
            response = refusal(_as_api_error(error, scope), self._failed)
            if isinstance(error, HTTPException):
                response.headers.update(error.headers or {})
            await response(scope, receive, send)

    async def _converse(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        async with self._open_conversation(HTTPConnection(scope)) as conversation:
            await converse(conversation, receive, send)

    async def _execute_commands(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        async with self._open_conversation(HTTPConnection(scope)) as conversation:
            response = await execute_commands(conversation, await read_body(receive))
            await response(scope, receive, send)

    async def _follow(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            # To HEAD there would be an answer without an end.
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET"})
        connection = HTTPConnection(scope)
        async with self._open_conversation(connection) as conversation:
            command = read_query(connection)
            self._streams.add(conversation.outbox)
            try:
                await follow(conversation, command, receive, send)
            finally:
                self._streams.discard(conversation.outbox)

    async def _receive_shipment(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        user = self._users.identify(connection.headers, connection.query_params)
        response = await receive_shipment(self._service, user, receive)
        await response(scope, receive, send)

    @asynccontextmanager
    async def _open_conversation(self, connection: HTTPConnection) -> AsyncIterator[Conversation]:
        query = connection.query_params
        user = self._users.identify(connection.headers, query)
        conversation = Conversation(self._service, self._faults, user, query.get("client_name", ""))
        await conversation.open()
        try:
            yield conversation
        except BadCommandError as error:
            conversation.refuse(error)
            raise
        finally:
            conversation.close()


async def _refuse_unknown(scope: HttpScope, _receive: Receive, _send: Send) -> None:
    raise ApiError(HTTPStatus.NOT_FOUND, "not_found", f"there is nothing at {scope['path']}: {_DIRECTIONS}")


def _as_api_error(error: Exception, scope: HttpScope) -> Exception:
    match error:
        case NameInUseError():
            return ApiError(HTTPStatus.CONFLICT, "name_in_use", str(error))
        case BadCommandError():
            return ApiError(HTTPStatus.BAD_REQUEST, "bad_command", str(error))
        case HTTPException():
            why = f"{scope['path']} does not take {scope['method']}: {_DIRECTIONS}"
            return ApiError(HTTPStatus(error.status_code), "method_not_allowed", why)
    return error
