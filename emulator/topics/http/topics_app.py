"""The topics port: ``/topics/ws``, ``POST /topics/commands`` and ``GET /topics/messages``."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from starlette.requests import HTTPConnection

from emulator.http.asgi import ClientGoneError, HttpScope, Receive, Send
from emulator.listeners.control.routing import ApiError, refusal
from emulator.topics.engine import NameInUseError
from emulator.topics.http.command_requests import Subscription, command_asked, commands_in, done
from emulator.topics.http.conversation import BadCommandError, Conversation
from emulator.topics.http.event_streams import follow
from emulator.topics.http.faults import TopicFaults
from emulator.topics.http.replication import taken_over
from emulator.topics.http.socket import converse
from emulator.topics.http.unsent_messages import Outbox
from emulator.topics.http.users import Users
from emulator.topics.service import TopicService

_SOCKET: Final = "/topics/ws"
_COMMANDS: Final = ("POST", "/topics/commands")
_MESSAGES: Final = ("GET", "/topics/messages")
_REPLICATION: Final = ("POST", "/topics/replication")


class TopicsPort:
    """An ASGI application over ``service``; ``failed`` is called with unexpected errors."""

    def __init__(self, service: TopicService, failed: Callable[[Exception], None]) -> None:
        self._service = service
        self._failed = failed
        self._users = Users(service.configuration.users)
        self._faults = TopicFaults(service.fault_engine, service.clock)
        self._streams: set[Outbox] = set()

    def close(self) -> None:
        """End every stream of events; a server that stops tells the WebSockets itself."""
        for outbox in tuple(self._streams):
            outbox.close("stopped")

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(scope, receive, send)
        except ClientGoneError:
            raise
        except Exception as error:  # noqa: BLE001 -- every error becomes an answer
            await refusal(_as_ours(error), self._failed)(scope, receive, send)

    async def _answer(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        socket, connection = scope["type"] == "websocket", HTTPConnection(scope)
        asked = None if socket else (scope["method"], scope["path"])
        if asked == _REPLICATION:
            user = self._users.who(connection.headers, connection.query_params)
            await (await taken_over(self._service, user, receive))(scope, receive, send)
            return
        if asked not in {_COMMANDS, _MESSAGES} and not (socket and scope["path"] == _SOCKET):
            raise ApiError(
                HTTPStatus.NOT_FOUND,
                "not_found",
                f"there is nothing at {scope['path']}: a WebSocket is at {_SOCKET}, "
                f"{' '.join(_COMMANDS)} takes commands and {' '.join(_MESSAGES)} subscribes",
            )
        conversation = self._conversation(connection)
        await conversation.open()
        try:
            if asked == _MESSAGES:
                command = command_asked(connection)
                await self._follow(conversation, command, receive, send)
            elif socket:
                await converse(conversation, receive, send)
            else:
                commands = await commands_in(receive)
                await (await done(conversation, commands))(scope, receive, send)
        except BadCommandError as error:
            conversation.refuse(error)
            raise
        finally:
            conversation.close()

    async def _follow(
        self, conversation: Conversation, command: Subscription, receive: Receive, send: Send
    ) -> None:
        self._streams.add(conversation.outbox)
        try:
            await follow(conversation, command, receive, send)
        finally:
            self._streams.discard(conversation.outbox)

    def _conversation(self, asked: HTTPConnection) -> Conversation:
        user = self._users.who(asked.headers, asked.query_params)
        return Conversation(self._service, self._faults, user, asked.query_params.get("client_name", ""))


def _as_ours(error: Exception) -> Exception:
    match error:
        case NameInUseError():
            return ApiError(HTTPStatus.CONFLICT, "name_in_use", str(error))
        case BadCommandError():
            return ApiError(HTTPStatus.BAD_REQUEST, "bad_command", str(error))
    return error
