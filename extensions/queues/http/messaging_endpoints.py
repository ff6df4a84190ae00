"""The endpoints of the messaging API, as ASGI applications for Starlette's router."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from emulator.http.asgi import BodyTooLongError, HttpScope, Receive, Send, answer, whole_body
from emulator.http.daemon_threads import DaemonThreads
from extensions.queues.engine import QueueEngine, QueuesError
from extensions.queues.http.answers import (
    MessagingAnswer,
    RequestRefusedError,
    bad_request,
    build_refusal,
    not_allowed,
    unavailable,
)
from extensions.queues.http.call import MessagingCall
from extensions.queues.http.request_rules import Rule
from extensions.queues.http.routes import Handler

_MOST_BODY_BYTES: Final = 1 << 24


class MessagingEndpoint:
    """One path, and its handlers by method. ``rules`` check a request before its handler.

    Requests that may take long run on ``threads``: those of a view, and those that resolve a subscriber's
    name.
    """

    def __init__(
        self,
        engine: QueueEngine,
        threads: DaemonThreads,
        path: str,
        rules: tuple[Rule, ...],
        handlers: Mapping[str, Handler],
    ) -> None:
        self.path = path
        self._engine = engine
        self._threads = threads
        self._version = path.split("/")[1]
        self._rules = rules
        self._handlers = handlers
        self._resolves = "subscriptions" in path

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        try:
            body = bytes(await whole_body(receive, _MOST_BODY_BYTES))
        except BodyTooLongError:
            reply = bad_request(f"A body may have {_MOST_BODY_BYTES} bytes at most.").answer()
        else:
            names = list(scope["path_params"].values())
            query = scope["query_string"].decode("latin-1")
            headers = dict(scope["headers"])
            reply = await self.respond(
                scope["method"], scope["path"], names, query=query, headers=headers, body=body
            )
        await answer(send, reply.status, reply.all_headers(), reply.body)

    async def respond(
        self,
        method: str,
        path: str,
        names: list[str],
        *,
        query: str,
        headers: dict[bytes, bytes],
        body: bytes,
    ) -> MessagingAnswer:
        """Answer a request. ``names`` are the variable parts of its path. Every error becomes an answer."""
        params = _parse_query(query) if query else {}
        call = MessagingCall(self._engine, self._version, method, path, query, names, params, headers, body)
        if self._resolves or (names and self._engine.has_view(names[0])):
            return await self._threads.run(partial(catch_errors, self._answer, call))
        return catch_errors(self._answer, call)

    def _answer(self, call: MessagingCall) -> MessagingAnswer:
        for rule in self._rules:
            rule(call)
        handler = self._handlers.get(call.method)
        if handler is not None:
            return handler(call)
        allowed = ", ".join(sorted(self._handlers))
        if call.method == "OPTIONS":
            return MessagingAnswer(HTTPStatus.OK, headers=((b"allow", allowed.encode()),))
        raise not_allowed(f"{allowed}, OPTIONS")


def catch_errors(respond: Callable[[MessagingCall], MessagingAnswer], call: MessagingCall) -> MessagingAnswer:
    try:
        return respond(call)
    except RequestRefusedError as refused:
        return refused.answer()
    except QueuesError as error:
        return build_refusal(error).answer()
    except OSError as error:
        return unavailable(error).answer()


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
