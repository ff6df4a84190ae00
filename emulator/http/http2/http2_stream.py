"""One request over HTTP/2 and its response, as an ASGI application sees them."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

import h2.connection
import h2.errors
import h2.exceptions

from emulator.http.asgi import HttpScope, Message
from emulator.http.bounds.body_memory import LEAVING, LONG_BYTES
from emulator.http.bounds.client_limits import USUAL
from emulator.http.bounds.timeouts import Awaited, Waiting
from emulator.http.http1.arriving_body import ArrivingBody

_HOP_BY_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"proxy-connection")
)


class StreamOwner(Protocol):
    """The connection that a stream belongs to."""

    frames: h2.connection.H2Connection
    unsent: int

    def date(self) -> tuple[bytes, bytes]: ...
    def abort(self) -> None: ...
    def flush(self) -> None: ...
    async def room(self, stream_id: int) -> int: ...
    def ended(self, stream_id: int, *, body_read: bool) -> None: ...
    def reset(self, stream_id: int, code: h2.errors.ErrorCodes) -> None: ...
    def consumed(self, stream_id: int, length: int) -> None: ...


class Http2Stream:
    """One request and its response."""

    def __init__(self, protocol: StreamOwner, stream_id: int, scope: HttpScope) -> None:
        self._protocol = protocol
        self._id = stream_id
        self.scope = scope
        self._body = ArrivingBody()
        self._come = 0
        self._sent = 0
        self._blocked = False
        self._unacknowledged = 0
        self._more_body = True
        self._body_given = False
        self._disconnected = False
        self._changed: asyncio.Future[None] | None = None
        self._head_sent = False
        self.done = False

    @property
    def gone(self) -> bool:
        return self._disconnected

    def waiting(self) -> Waiting | None:
        if self._blocked:
            return Waiting(Awaited.READER, self._sent)
        if self._more_body and not self._body.held and not self.done:
            return Waiting(Awaited.BODY, self._come // USUAL.body_step)
        return None

    def give_up(self, _waiting: Waiting) -> None:
        self._protocol.reset(self._id, h2.errors.ErrorCodes.CANCEL)
        self.disconnect()

    def arrived(self, piece: bytes, flow_controlled_length: int) -> None:
        """Add a piece of the body. Raises NoRoomError when there is no memory for it."""
        self._body.add(piece)
        self._come += len(piece)
        self._unacknowledged += flow_controlled_length
        self._wake()

    def completed(self) -> None:
        self._more_body = False
        self._wake()

    def disconnect(self) -> None:
        """Note that the client has left: tell the application, and drop what the client sent."""
        self._disconnected = True
        self._body.clear()
        self._acknowledge()
        self._wake()

    def abort(self) -> None:
        if not self._disconnected:
            self._protocol.abort()

    async def receive(self) -> Message:
        while not (self._body.held or self._disconnected or self.done):
            if not self._more_body and not self._body_given:
                break
            self._changed = asyncio.get_running_loop().create_future()
            await self._changed
        if self._disconnected or self.done:
            return {"type": "http.disconnect"}
        body = self._body.take()
        self._acknowledge()
        self._body_given = not self._more_body
        return {"type": "http.request", "body": body, "more_body": self._more_body}

    async def send(self, message: Message) -> None:
        if self._disconnected or self.done:
            return
        if message["type"] == "http.response.start":
            self._send_head(message)
            return
        body: bytes = b"" if self.scope["method"] == "HEAD" else message.get("body", b"")
        more: bool = message.get("more_body", False)
        counted = len(body) if len(body) > LONG_BYTES else 0
        if not LEAVING.take(counted):
            await self.fail()
            return
        self._protocol.unsent += len(body)
        try:
            await self._send_data(memoryview(body), end=not more)
        finally:
            self._protocol.unsent -= len(body)
            LEAVING.give_back(counted)
        if not more and not self._disconnected:
            self.done = True
            self._body.clear()
            self._acknowledge()
            self._wake()
            self._protocol.ended(self._id, body_read=not self._more_body)

    def _send_head(self, message: Message) -> None:
        headers: list[tuple[bytes, bytes]] = [(b":status", b"%d" % message["status"])]
        for name, value in message.get("headers", ()):
            if name.lower() not in _HOP_BY_HOP:
                headers.append((name.lower(), value))
        if not any(name == b"date" for name, _ in headers):
            headers.append(self._protocol.date())
        self._protocol.frames.send_headers(self._id, headers)
        self._head_sent = True

    async def _send_data(self, body: memoryview, *, end: bool) -> None:
        frames = self._protocol.frames
        while len(body):
            self._blocked = True
            room = await self._protocol.room(self._id)
            self._blocked = False
            if not room:
                return
            self._sent += room
            last = len(body) <= room
            frames.send_data(self._id, bytes(body[:room]), end_stream=end and last)
            self._protocol.flush()
            body = body[room:]
            if last:
                return
        if end:
            frames.end_stream(self._id)
        self._protocol.flush()

    def _acknowledge(self) -> None:
        """Let the client send as many bytes as were taken or dropped."""
        unacknowledged, self._unacknowledged = self._unacknowledged, 0
        self._protocol.consumed(self._id, unacknowledged)

    async def fail(self, status: int = 500, why: str = "Internal Server Error") -> None:
        if self._disconnected:
            return
        if self._head_sent:
            self._protocol.reset(self._id, h2.errors.ErrorCodes.INTERNAL_ERROR)
            return
        headers = [(b"content-type", b"text/plain")]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": f"{why}\n".encode()})

    def _wake(self) -> None:
        if self._changed and not self._changed.done():
            self._changed.set_result(None)
