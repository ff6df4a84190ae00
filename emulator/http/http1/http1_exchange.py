"""One request over HTTP/1.1 and its response, as an ASGI application sees them."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Protocol

from emulator.http.asgi import Headers, HttpScope, Message
from emulator.http.bounds.body_memory import LEAVING, LONG_BYTES, NOT_READ
from emulator.http.bounds.turns import Inflow
from emulator.http.http1.arriving_body import ArrivingBody

BODY_HELD = "enough of its body is here"

_JOINED_WRITE_BYTES = 1 << 16
STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
_BODILESS = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


class ExchangeOwner(Protocol):
    """The connection that an exchange belongs to."""

    transport: asyncio.Transport
    inflow: Inflow

    def date(self) -> tuple[bytes, bytes]: ...
    def abort(self) -> None: ...
    async def writable(self) -> None: ...
    def ended(self, *, keep_alive: bool) -> None: ...


class Http1Exchange:
    """One request and its response.

    ``queued``: it runs, or waits for those before it. ``continue_expected``: the client waits for
    100 Continue before it sends the body.
    """

    def __init__(self, protocol: ExchangeOwner, scope: HttpScope, *, keep_alive: bool) -> None:
        self._protocol = protocol
        self.scope = scope
        self._keep_alive = keep_alive
        self.queued = False
        self.continue_expected = False
        self._body = ArrivingBody()
        self._more_body = True
        self._body_given = False
        self._disconnected = False
        self._changed: asyncio.Future[None] | None = None
        self._start: Message | None = None
        self._head_sent = False
        self._chunked = False
        self.done = False

    @property
    def held(self) -> int:
        """Bytes of the body that have arrived and were not taken."""
        return self._body.held

    def arrived(self, piece: bytes | bytearray) -> None:
        """Add a piece of the body. Raises NoRoomError when there is no memory for it."""
        if not self.done:
            self._body.add(piece)
            self._wake()

    def take_body(self) -> bytes | bytearray:
        """Take what has arrived of the body."""
        return self._body.take()

    def completed(self) -> None:
        self._more_body = False
        self._wake()

    def disconnect(self) -> None:
        self._disconnected = True
        self._body.clear()
        self._wake()

    @property
    def gone(self) -> bool:
        return self._disconnected

    @property
    def answered(self) -> bool:
        """Whether its response has begun."""
        return self._head_sent

    def abort(self) -> None:
        if not self._disconnected:
            self._protocol.abort()

    async def receive(self) -> Message:
        if self.continue_expected and self._more_body:
            self._protocol.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.continue_expected = False
        while not (self._body.held or self._disconnected or self.done):
            if not self._more_body and not self._body_given:
                break
            self._changed = asyncio.get_running_loop().create_future()
            self._protocol.inflow.release(BODY_HELD)
            await self._changed
        if self._disconnected or self.done:
            return {"type": "http.disconnect"}
        body = self._body.take()
        self._body_given = not self._more_body
        return {"type": "http.request", "body": body, "more_body": self._more_body}

    async def send(self, message: Message) -> None:
        if self._disconnected or self.done:
            return
        if message["type"] == "http.response.start":
            self._start = message
            return
        body: bytes = message.get("body", b"")
        if len(body) <= LONG_BYTES:
            await self._send(body, message.get("more_body", False))
        elif LEAVING.take(len(body)):
            try:
                await self._send(body, message.get("more_body", False))
            finally:
                LEAVING.give_back(len(body))
        else:
            await self.fail(HTTPStatus.SERVICE_UNAVAILABLE, NOT_READ)

    async def _send(self, body: bytes, more: bool) -> None:
        """Send a piece of the body, and wait until the client has read enough."""
        head = b"" if self._head_sent else self._head(len(body), more)
        self._head_sent = True
        self._write(head, self._framed(body, more))
        if not more:
            self.done = True
            if self._body.held:
                self._body.clear()
            self._wake()
            self._protocol.ended(keep_alive=self._keep_alive)
        await self._protocol.writable()

    def _head(self, length: int, more: bool) -> bytes:
        assert self._start is not None, "the response's start comes before its body"
        status: int = self._start["status"]
        headers: Headers = list(self._start.get("headers", ()))
        # ``map`` takes half the time of a comprehension.
        names = set(map(bytes.lower, dict(headers)))
        if b"content-length" not in names and status not in _BODILESS:
            if not more:
                headers.append((b"content-length", b"%d" % length))
            elif self.scope["http_version"] == "1.1":
                self._chunked = True
                headers.append((b"transfer-encoding", b"chunked"))
            else:
                self._keep_alive = False
        if self._more_body:
            # The application did not read the whole request. Its rest must not be parsed as the next one.
            self._keep_alive = False
        if b"date" not in names:
            headers.append(self._protocol.date())
        if not self._keep_alive:
            headers.append((b"connection", b"close"))
        line = STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status
        return b"".join([line, *[b"%b: %b\r\n" % header for header in headers], b"\r\n"])

    def _framed(self, body: bytes, more: bool) -> bytes:
        if self.scope["method"] == "HEAD":
            return b""
        if not self._chunked:
            return body
        chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
        return chunk if more else chunk + b"0\r\n\r\n"

    def _write(self, head: bytes, body: bytes) -> None:
        transport = self._protocol.transport
        if not head or len(body) < _JOINED_WRITE_BYTES:
            transport.write(head + body)
        else:
            transport.writelines((head, body))

    async def fail(self, status: int = 500, why: str = "Internal Server Error") -> None:
        if self._disconnected:
            return
        if self._head_sent:
            self._protocol.abort()
            return
        self._start = {"status": status, "headers": [(b"content-type", b"text/plain")]}
        await self.send({"type": "http.response.body", "body": f"{why}\n".encode()})

    def _wake(self) -> None:
        if self._changed and not self._changed.done():
            self._changed.set_result(None)
