"""The messaging API of OpenStack (Marconi, now Zaqar) on one port: v1, v1.1, v2, and v2 over WebSocket."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs, unquote

from emulator.events import Events
from emulator.http.access_policies import QUEUES
from emulator.http.asgi import BodyTooLongError, HttpScope, Receive, Send, answer, whole_body
from emulator.http.daemon_threads import DaemonThreads
from emulator.queues.engine import QueueEngine, QueuesError
from emulator.queues.http import request_rules as rules
from emulator.queues.http import v1, v1_1, v2
from emulator.queues.http.answers import (
    Answer,
    RequestRefusedError,
    bad_request,
    build_refusal,
    encode,
    not_allowed,
    nothing_here,
    unavailable,
)
from emulator.queues.http.call import Call
from emulator.queues.http.request_rules import Rule
from emulator.queues.http.routes import Route, build_home, find_shape, render_version

_MOST_BODY_BYTES: Final = 1 << 24
_MOST_VIEWS_AT_ONCE: Final = 32
_SUBSCRIPTIONS: Final = "subscriptions"
_QUEUE_PLACE: Final = 3
"""The position of the queue's name in a path that is split at its slashes."""


@dataclass(frozen=True, slots=True)
class _Version:
    """A version of the API: its rules for requests, its routes by shape, and its home document."""

    rules: tuple[Rule, ...]
    routes: dict[tuple[str, ...], Route]
    home: bytes


def _build_version(name: str, its_rules: tuple[Rule, ...], routes: tuple[Route, ...]) -> _Version:
    return _Version(its_rules, {route.shape: route for route in routes}, encode(build_home(name, routes)))


_VERSIONS: Final = {
    "v1": _build_version("v1", rules.V1, v1.ROUTES),
    "v1.1": _build_version("v1.1", rules.V1_1_AND_2, v1_1.ROUTES),
    "v2": _build_version("v2", rules.V1_1_AND_2, v2.ROUTES),
}
_LIST: Final = encode(
    {
        "versions": [
            render_version("1", "DEPRECATED", "2014-9-11T17:47:05Z", "v1"),
            render_version("1.1", "DEPRECATED", "2016-7-29T02:22:47Z", "v1_1"),
            render_version("2", "CURRENT", "2014-9-24T04:06:47Z", "v2"),
        ]
    }
)
_HOME_HEADERS: Final = (
    (b"content-type", b"application/json-home"),
    (b"cache-control", b"max-age=86400"),
)


class QueuesApp:
    """The ASGI application of the messaging port.

    With a ``token``, a WebSocket client must give it, in the handshake or with the first action.
    """

    def __init__(self, engine: QueueEngine, events: Events, token: str | None = None) -> None:
        self._engine = engine
        self._events = events
        self._token = token
        self._threads = DaemonThreads("views", _MOST_VIEWS_AT_ONCE)

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._converse(scope, receive, send)
            return
        try:
            response = await self._respond(scope, bytes(await whole_body(receive, _MOST_BODY_BYTES)))
        except BodyTooLongError:
            response = bad_request(f"A body may have {_MOST_BODY_BYTES} bytes at most.").answer()
        await answer(send, response.status, response.all_headers(), response.body)

    async def _converse(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        from emulator.queues.http.websocket_transport import Socket

        await receive()
        await send({"type": "websocket.accept"})
        given = QUEUES.given(scope, dict(scope["headers"]))
        token = None if self._token is None or self._token.encode() in given else self._token
        await Socket(self._engine, self._events, self._respond, send, token).converse(receive)

    async def _respond(self, scope: HttpScope, body: bytes) -> Answer:
        if self._may_wait(scope):
            return await self._threads.run(partial(self.answer, scope, body))
        return self.answer(scope, body)

    def answer(self, scope: HttpScope, body: bytes) -> Answer:
        """Answer a request. Every error becomes an answer."""
        try:
            return self._answer(scope, body)
        except RequestRefusedError as refused:
            return refused.answer()
        except QueuesError as error:
            return build_refusal(error).answer()
        except OSError as error:
            return unavailable(error).answer()

    def _may_wait(self, scope: HttpScope) -> bool:
        """Whether the request may take long: it may concern a view, or a subscriber's name to resolve."""
        parts = scope["path"].split("/")
        if len(parts) <= _QUEUE_PLACE:
            return False
        return self._engine.has_view(parts[_QUEUE_PLACE]) or _SUBSCRIPTIONS in parts

    def _answer(self, scope: HttpScope, body: bytes) -> Answer:
        parts = scope["raw_path"].decode("latin-1").split("/")[1:]
        if b"%" in scope["raw_path"]:
            parts = [unquote(part) for part in parts]
        version = _VERSIONS.get(parts[0])
        if version is None:
            return _answer_versions(scope["method"], parts)
        call = self._build_call(scope, parts, body)
        if parts[1:] in ([], [""]):
            return _answer_home(call, version, rules.DISCOVERY if parts[1:] == [] else version.rules)
        route = version.routes.get(find_shape(parts[1:]))
        if route is None or "" in call.names:
            raise nothing_here()
        for rule in version.rules:
            rule(call)
        handler = route.handlers.get(call.method)
        if handler is None:
            return _answer_other_method(call, route)
        return handler(call)

    def _build_call(self, scope: HttpScope, parts: list[str], body: bytes) -> Call:
        query = scope["query_string"].decode("latin-1")
        return Call(
            engine=self._engine,
            version=parts[0],
            method=scope["method"],
            path=scope["path"],
            query=query,
            names=parts[2::2],
            params=_parse_query(query) if query else {},
            headers=dict(scope["headers"]),
            body=body,
        )


def _parse_query(query: str) -> dict[str, list[str]]:
    """Parse the query's parameters. Those without a value are left out."""
    if "%" in query or "+" in query:
        return parse_qs(query)
    params: dict[str, list[str]] = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if value:
            params.setdefault(name, []).append(value)
    return params


def _answer_versions(method: str, parts: list[str]) -> Answer:
    if parts != [""]:
        raise nothing_here()
    if method != "GET":
        raise not_allowed("GET, OPTIONS")
    return Answer(HTTPStatus.MULTIPLE_CHOICES, _LIST)


def _answer_home(call: Call, version: _Version, asked: tuple[Rule, ...]) -> Answer:
    """The home document. Without the final slash it needs no headers, for clients that discover the API."""
    for rule in asked:
        rule(call)
    if call.method != "GET":
        raise not_allowed("GET, OPTIONS")
    return Answer(HTTPStatus.OK, version.home, _HOME_HEADERS)


def _answer_other_method(call: Call, route: Route) -> Answer:
    if call.method == "OPTIONS":
        return Answer(HTTPStatus.OK, headers=((b"allow", ", ".join(sorted(route.handlers)).encode()),))
    raise not_allowed(route.allowed)
