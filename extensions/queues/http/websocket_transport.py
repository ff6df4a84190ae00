"""The messaging API over WebSocket: ``{"action", "headers", "body"}`` as JSON text, or as MessagePack.

Each action runs as the request of version 2 for which it stands. The answer is ``{"request", "headers":
{"status"}, "body"}``. ``subscription_create`` without a subscriber sends new messages to this connection.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec

from emulator.events import Events
from emulator.http.asgi import Message, Receive, Send
from extensions.queues.engine import Address, QueueEngine, QueuesError
from extensions.queues.engine import bounds as checks
from extensions.queues.http.answers import MessagingAnswer, RequestRefusedError, bad_request
from extensions.queues.http.messaging_endpoints import MessagingEndpoint
from extensions.queues.http.websocket_actions import ACTIONS, build_document, build_query, find_names
from rdss_sandbox.shapes.events import Event

_POSTED: Final = ("queue.messages_posted", "queue.messages_arrived")
_FORBIDDEN: Final = 403
_AUTHENTICATION: Final = "x-auth-token"
_encode, _decode = msgspec.json.encode, msgspec.json.decode
_pack, _unpack = msgspec.msgpack.encode, msgspec.msgpack.decode


class Socket:
    """One connection. ``endpoints`` are those of the API, by their paths.

    Nothing is done before ``token`` is given.
    """

    def __init__(
        self,
        engine: QueueEngine,
        events: Events,
        endpoints: Mapping[str, MessagingEndpoint],
        send: Send,
        token: str | None = None,
    ) -> None:
        self._engine = engine
        self._events = events
        self._endpoints = endpoints
        self._send = send
        self._token = token
        self._addresses: set[Address] = set()
        self._packed = False
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Queue[tuple[Address, list[str]]] = asyncio.Queue()

    async def converse(self, receive: Receive) -> None:
        """Answer actions and send subscribed messages until the client leaves."""
        sender = asyncio.create_task(self._send_news())
        try:
            with self._events.subscribed(self._note_event):
                while (message := await receive())["type"] == "websocket.receive":
                    await self._send_document(await self._respond(message))
        except ConnectionResetError:
            return
        finally:
            sender.cancel()

    async def _respond(self, message: Message) -> dict[str, Any]:
        self._packed = message.get("bytes") is not None
        raw = message["bytes"] if self._packed else message["text"]
        try:
            asked = (_unpack if self._packed else _decode)(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _build_response(
                {}, 400, {"error": "Can't decode binary" if self._packed else "Invalid JSON"}
            )
        request = asked if isinstance(asked, dict) else {}
        try:
            status, body = await self._run_action(request)
        except RequestRefusedError as refused:
            answer = refused.answer()
            status, body = answer.status, _read_error(answer)
        except QueuesError as error:
            status, body = 400, {"error": str(error)}
        return _build_response(request, status, body)

    async def _run_action(self, request: Mapping[str, Any]) -> tuple[int, Any]:
        name, headers, fields = request.get("action"), request.get("headers"), request.get("body") or {}
        if name == "authenticate":
            self._authenticate(headers)
        if self._token is not None:
            return _FORBIDDEN, {"error": "You need to be authenticated: give X-Auth-Token to 'authenticate'."}
        if name == "authenticate":
            return 200, {"message": "Authentified."}
        action = ACTIONS.get(name) if isinstance(name, str) else None
        if action is None:
            raise bad_request(f"{name!r} is not a valid action")
        if not isinstance(headers, dict) or not isinstance(fields, dict):
            raise bad_request("A request has an action, headers, and a body, which are objects.")
        if name == "subscription_create" and not fields.get("subscriber"):
            return self._subscribe(headers, fields)
        names = find_names(action, fields)
        path = action.path.format_map({name: quote(value, safe="") for name, value in names.items()})
        document = build_document(action, fields)
        answer = await self._endpoints[f"/v2/{action.path}"].respond(
            action.method,
            f"/v2/{path}",
            [*names.values()],
            query=build_query(action, fields),
            headers=_encode_headers(headers),
            body=b"" if document is None else _encode(document),
        )
        return answer.status, _read_error(answer) if answer.status >= 400 else _read_body(answer)

    def _authenticate(self, headers: Any) -> None:
        given = (
            {str(key).lower(): value for key, value in headers.items()} if isinstance(headers, dict) else {}
        )
        token = str(given.get(_AUTHENTICATION, ""))
        if self._token is not None and hmac.compare_digest(token.encode(), self._token.encode()):
            self._token = None

    def _subscribe(self, headers: Mapping[str, Any], fields: Mapping[str, Any]) -> tuple[int, Any]:
        at = Address(str(headers.get("X-Project-ID", "")), str(fields.get("queue_name", "")))
        if not at.project:
            raise bad_request("The header X-Project-ID is required.")
        checks.queue_address(*at)
        self._addresses.add(at)
        return 201, {"message": f"Subscription to {at.name} created, for as long as this connection lasts."}

    def _note_event(self, event: Event) -> None:
        """Note new messages. It is called on the poster's thread with the queues locked, so it only notes."""
        if self._addresses and event.kind in _POSTED:
            at = Address(event.fields["project"], event.fields["queue"])
            if at in self._addresses:
                self._loop.call_soon_threadsafe(self._news.put_nowait, (at, event.fields["messages"]))

    async def _send_news(self) -> None:
        while True:
            at, ids = await self._news.get()
            for message in self._engine.messages.find_taken(at, ids):
                fields = {"ttl": message.ttl, "queue_name": at.name, "Message_Type": "Notification"}
                try:
                    await self._send_document({"body": _decode(message.body)} | fields)
                except ConnectionResetError:
                    return

    async def _send_document(self, document: dict[str, Any]) -> None:
        if self._packed:
            await self._send({"type": "websocket.send", "bytes": _pack(document)})
        else:
            await self._send({"type": "websocket.send", "text": _encode(document).decode()})


def _encode_headers(headers: Mapping[str, Any]) -> dict[bytes, bytes]:
    given = {str(name).lower().encode(): str(value).encode("latin-1") for name, value in headers.items()}
    return {**given, b"accept": b"application/json"}


def _build_response(request: Mapping[str, Any], status: int, body: Any) -> dict[str, Any]:
    fields = {name: request.get(name) for name in ("action", "headers", "body")}
    return {"request": fields | {"api": "v2"}, "headers": {"status": int(status)}, "body": body}


def _read_body(answer: MessagingAnswer) -> Any:
    document = _decode(answer.body) if answer.body else {}
    location = next((value.decode() for name, value in answer.headers if name == b"location"), None)
    if location is not None and isinstance(document, dict):
        document |= {"location": location}
    return document


def _read_error(answer: MessagingAnswer) -> dict[str, Any]:
    fields = _decode(answer.body) if answer.body else {}
    return {"error": fields.get("description") or fields.get("title") or "refused"}
