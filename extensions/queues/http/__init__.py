"""The messaging API of OpenStack (Marconi, now Zaqar) on one port: v1, v1.1, v2, and v2 over WebSocket."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Final

from starlette.routing import BaseRoute, Router, WebSocketRoute
from starlette.routing import Route as StarletteRoute
from starlette.websockets import WebSocket

from emulator.events import Events
from emulator.http.asgi import HttpScope, Receive, Send, answer
from emulator.http.daemon_threads import DaemonThreads
from extensions.queues.engine import QueueEngine
from extensions.queues.http import request_rules as rules
from extensions.queues.http import v1, v1_1, v2
from extensions.queues.http.answers import MessagingAnswer, encode, nothing_here
from extensions.queues.http.messaging_endpoints import MessagingEndpoint
from extensions.queues.http.routes import Handler, build_home, render_version
from extensions.queues.queue_access_policy import POLICY

_MOST_VIEWS_AT_ONCE: Final = 32
_VERSIONS: Final = {
    "v2": (rules.V1_1_AND_2, v2.ROUTES),
    "v1.1": (rules.V1_1_AND_2, v1_1.ROUTES),
    "v1": (rules.V1, v1.ROUTES),
}
_HOME_HEADERS: Final = (
    (b"content-type", b"application/json-home"),
    (b"cache-control", b"max-age=86400"),
)
_LIST: Final = encode(
    {
        "versions": [
            render_version("1", "DEPRECATED", "2014-9-11T17:47:05Z", "v1"),
            render_version("1.1", "DEPRECATED", "2016-7-29T02:22:47Z", "v1_1"),
            render_version("2", "CURRENT", "2014-9-24T04:06:47Z", "v2"),
        ]
    }
)


class QueuesApp:
    """The ASGI application of the messaging port.

    With a ``token``, a WebSocket client must give it, in the handshake or with the first action.
    """

    def __init__(self, engine: QueueEngine, events: Events, token: str | None = None) -> None:
        self._engine = engine
        self._events = events
        self._token = token
        build = partial(MessagingEndpoint, engine, DaemonThreads("views", _MOST_VIEWS_AT_ONCE))
        endpoints = [build("/", (), {"GET": _build_document(_LIST, HTTPStatus.MULTIPLE_CHOICES)})]
        for version, (its_rules, routes) in _VERSIONS.items():
            endpoints += [build(f"/{version}/{route.path}", its_rules, route.handlers) for route in routes]
            home = {"GET": _build_document(encode(build_home(version, routes)), headers=_HOME_HEADERS)}
            # Without the final slash it needs no headers, for clients that discover the API.
            endpoints += [build(f"/{version}", rules.DISCOVERY, home), build(f"/{version}/", its_rules, home)]
        self._endpoints = {endpoint.path: endpoint for endpoint in endpoints}
        # The router tries one after another. Clients ask for messages and claims most.
        endpoints.sort(key=lambda endpoint: not endpoint.path.endswith(("/messages", "/claims")))
        found: list[BaseRoute] = [StarletteRoute(endpoint.path, endpoint) for endpoint in endpoints]
        found.append(WebSocketRoute("/{path:path}", self._converse))
        self._router = Router(found, redirect_slashes=False, default=_refuse)

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        await self._router(scope, receive, send)

    async def _converse(self, websocket: WebSocket) -> None:
        from extensions.queues.http.websocket_transport import Socket

        await websocket.accept()
        given = POLICY.given(websocket.scope, dict(websocket.scope["headers"]))
        token = None if self._token is None or self._token.encode() in given else self._token
        socket = Socket(self._engine, self._events, self._endpoints, websocket.send, token)
        await socket.converse(websocket.receive)


def _build_document(
    body: bytes, status: HTTPStatus = HTTPStatus.OK, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> Handler:
    """Build a handler that always answers with the same document."""
    return lambda _call: MessagingAnswer(status, body, headers)


async def _refuse(_scope: HttpScope, _receive: Receive, send: Send) -> None:
    """Answer a request for an unknown path."""
    reply = nothing_here().answer()
    await answer(send, reply.status, reply.all_headers(), reply.body)
