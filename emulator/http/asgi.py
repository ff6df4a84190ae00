"""The interface between an HTTP connection and the application behind it (ASGI 3, the http part)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, TypeAlias

from emulator.http.bounds.body_memory import ARRIVING, NO_ROOM

HttpScope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[HttpScope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]


class ClientGoneError(Exception):
    """Raised by an application to close the connection at once, without an answer."""


class NoRoomError(ClientGoneError):
    """There is no memory for more of a request. The client is answered 503."""

    def __init__(self) -> None:
        super().__init__(NO_ROOM)


class BodyTooLongError(Exception):
    """A request's body is longer than its reader accepts."""


async def whole_body(receive: Receive, most: int = 1 << 26) -> bytes:
    """Receive the request's whole body.

    Raises ClientGoneError when the client leaves before its end, NoRoomError when there is no memory for it,
    and BodyTooLongError beyond ``most`` bytes.
    """
    # Most bodies are one message: they are returned without a copy.
    message = await receive()
    if not message.get("more_body") and message["type"] == "http.request":
        body: bytes = message["body"]
        return body
    pieces: list[bytes] = []
    length = 0
    try:
        while True:
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            piece = message["body"]
            if not ARRIVING.take(len(piece)):
                raise NoRoomError
            pieces.append(piece)
            length += len(piece)
            if length > most:
                raise BodyTooLongError
            if not message["more_body"]:
                return b"".join(pieces)
            message = await receive()
    finally:
        ARRIVING.give_back(length)


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has left. What it sends until then is dropped."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def run_until_first(*works: Coroutine[Any, Any, object]) -> list[object]:
    """Run coroutines until the first one ends, then cancel the others.

    Returns for each its result or its exception, which for the others is CancelledError.
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ends: list[object] = await asyncio.gather(*tasks, return_exceptions=True)
    return ends


async def answer(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Send a whole response. The connection adds its content-length."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
