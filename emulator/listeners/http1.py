"""HTTP/1.1 (RFC 9112) on one connection, with requests handed to an ASGI application.

A request whose body is short enough is handed over whole, so that the usual
call costs one task and one write; a long body is streamed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from http import HTTPStatus
from typing import cast
from urllib.parse import unquote

import httptools

from emulator.listeners.asgi import Headers, HttpScope, Message
from emulator.listeners.body_reader import BodyReader
from emulator.listeners.connections import Connections

_HELD_BODY_BYTES = 1 << 20
_WHOLE_BODY_BYTES = 1 << 24
_LONG_BODY_DIGITS = 5
_JOINED_WRITE_BYTES = 1 << 16
_STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
_OFFER = (b"connection", b"upgrade", b"http2-settings")
_BODILESS = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


class Http1Protocol(asyncio.Protocol):
    """Parses requests, runs them one after another, keeps the connection open between them."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[_Exchange] = deque()
        self._running: _Exchange | None = None
        self._arriving: _Exchange | None = None
        self._draining = False
        self._writable: asyncio.Future[None] | None = None

    # -- the transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._client = transport.get_extra_info("peername")
        self._server = transport.get_extra_info("sockname")
        self._connections.opened(self)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._connections.closed(self)
        for exchange in (self._running, self._arriving, *self._waiting):
            if exchange:
                exchange.disconnect()
        self._waiting.clear()
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self._refuse(str(error))
        else:
            if self._body_length:
                self._read_past_parser(self._body_length)

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    def drain(self) -> None:
        self._draining = True
        if self._running is None:
            self.transport.close()

    def abort(self) -> None:
        self.transport.abort()

    # -- the parser's side

    def on_message_begin(self) -> None:
        self._url = b""
        self._body_length = 0
        self._headers: Headers = []
        self._continue_expected = False

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self._continue_expected = True
        elif name == b"content-length" and len(value) > _LONG_BODY_DIGITS:
            self._body_length = int(value)
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self._parser.should_upgrade():
            return
        exchange = _Exchange(self, self._scope(), keep_alive=self._parser.should_keep_alive())
        exchange.continue_expected = self._continue_expected
        self._arriving = exchange
        if self._continue_expected:
            self._enqueue(exchange)

    def on_body(self, body: bytes) -> None:
        exchange = self._arriving
        assert exchange is not None
        exchange.arrived(body)
        if exchange.held > _HELD_BODY_BYTES:
            self._enqueue(exchange)
            if exchange.held > _HELD_BODY_BYTES:
                self.transport.pause_reading()

    def on_message_complete(self) -> None:
        exchange, self._arriving = self._arriving, None
        if exchange:
            exchange.completed()
            self._enqueue(exchange)

    def _read_past_parser(self, length: int) -> None:
        """Read the rest of a body of known ``length`` that will be handed over whole."""
        exchange, self._body_length = self._arriving, 0
        if exchange is None or exchange.queued or length > _WHOLE_BODY_BYTES:
            return
        body = bytearray(length)
        filled = exchange.moved_into(body)

        def complete(body: bytearray) -> None:
            self._parser = httptools.HttpRequestParser(self)
            self.transport.set_protocol(self)
            exchange.arrived(body)
            self.on_message_complete()

        self.transport.set_protocol(BodyReader(self, body, filled, complete))

    # -- the exchanges' side

    async def writable(self) -> None:
        if self._writable:
            await asyncio.shield(self._writable)

    def ended(self, *, keep_alive: bool) -> None:
        """The running exchange has its response; start the next or close."""
        self._running = None
        if self.transport.is_closing():
            return
        if not keep_alive or self._draining:
            self.transport.close()
            return
        self.transport.resume_reading()
        if self._waiting:
            self._run(self._waiting.popleft())

    def _enqueue(self, exchange: _Exchange) -> None:
        if exchange.queued or self.transport.is_closing():
            return
        exchange.queued = True
        if self._running is None:
            self._run(exchange)
        else:
            self._waiting.append(exchange)
            self.transport.pause_reading()

    def _run(self, exchange: _Exchange) -> None:
        self._running = exchange
        self._connections.start(exchange)

    def _scope(self) -> HttpScope:
        raw_path, _, query = self._url.partition(b"?")
        if not raw_path.startswith(b"/") and b"://" in raw_path:
            raw_path = b"/" + raw_path.partition(b"://")[2].partition(b"/")[2]
        path = raw_path.decode("latin-1")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": self._parser.get_http_version(),
            "method": self._parser.get_method().decode(),
            "scheme": "http",
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
            "root_path": "",
            "headers": self._headers,
            "client": self._client,
            "server": self._server,
        }

    def _upgrade(self, rest: bytes) -> None:
        offered = dict(self._headers).get(b"upgrade", b"").lower()
        if offered != b"websocket" or not self._connections.websockets or self._running:
            self._decline_upgrade(rest)
            return
        from emulator.listeners.websocket import WebSocketProtocol  # noqa: PLC0415 -- only some clients need it

        scope = {**self._scope(), "type": "websocket", "scheme": "ws"}
        self._connections.closed(self)
        WebSocketProtocol(self._connections, scope, self.transport).begin(rest)

    def _decline_upgrade(self, rest: bytes) -> None:
        """Take a request that offers another protocol (h2c, RFC 7540 section 3.2) as if it did not."""
        method = self._parser.get_method()
        if method == b"CONNECT":
            self._refuse("there is no proxy here")
            return
        kept = [(name, value) for name, value in self._headers if name not in _OFFER]
        head = b"".join(b"%b: %b\r\n" % header for header in kept)
        self._parser = httptools.HttpRequestParser(self)
        self.data_received(b"%b %b HTTP/1.1\r\n%b\r\n%b" % (method, self._url, head, rest))

    def _refuse(self, why: str) -> None:
        body = f"This is not HTTP/1.1: {why}\n".encode()
        head = b"content-type: text/plain\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(_STATUS_LINES[400] + head + body)
        self.transport.close()


class _Exchange:
    """One request and its response."""

    def __init__(self, protocol: Http1Protocol, scope: HttpScope, *, keep_alive: bool) -> None:
        self._protocol = protocol
        self.scope = scope
        self._keep_alive = keep_alive
        self.queued = False
        self.continue_expected = False
        self.held = 0
        self._pieces: list[bytes | bytearray] = []
        self._more_body = True
        self._body_given = False
        self._disconnected = False
        self._changed: asyncio.Future[None] | None = None
        self._start: Message | None = None
        self._head_sent = False
        self._chunked = False
        self.done = False

    def arrived(self, piece: bytes | bytearray) -> None:
        if self.done:
            return
        self._pieces.append(piece)
        self.held += len(piece)
        self._wake()

    def moved_into(self, body: bytearray) -> int:
        """Put what has arrived at the beginning of ``body``; how many bytes."""
        held = b"".join(self._pieces)
        body[: len(held)] = held
        self._pieces.clear()
        self.held = 0
        return len(held)

    def completed(self) -> None:
        self._more_body = False
        self._wake()

    def disconnect(self) -> None:
        self._disconnected = True
        self._wake()

    def abort(self) -> None:
        self._protocol.abort()

    async def receive(self) -> Message:
        if self.continue_expected and self._more_body:
            self._protocol.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.continue_expected = False
        while not (self._pieces or self._disconnected or self.done):
            if not self._more_body and not self._body_given:
                break
            self._changed = asyncio.get_running_loop().create_future()
            self._protocol.transport.resume_reading()
            await self._changed
        if self._disconnected or self.done:
            return {"type": "http.disconnect"}
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self.held = 0
        self._body_given = not self._more_body
        return {"type": "http.request", "body": body, "more_body": self._more_body}

    async def send(self, message: Message) -> None:
        if self._disconnected or self.done:
            return
        if message["type"] == "http.response.start":
            self._start = message
            return
        body: bytes = message.get("body", b"")
        more: bool = message.get("more_body", False)
        head = b"" if self._head_sent else self._head(len(body), more)
        self._head_sent = True
        self._write(head, self._framed(body, more))
        if not more:
            self._finish()
        await self._protocol.writable()

    def _head(self, length: int, more: bool) -> bytes:
        assert self._start is not None, "the response's start comes before its body"
        status: int = self._start["status"]
        headers: Headers = list(self._start.get("headers", ()))
        names = {name.lower() for name, _ in headers}
        if b"content-length" not in names and status not in _BODILESS:
            if not more:
                headers.append((b"content-length", b"%d" % length))
            elif self.scope["http_version"] == "1.1":
                self._chunked = True
                headers.append((b"transfer-encoding", b"chunked"))
            else:
                self._keep_alive = False
        if self._more_body:
            # The rest of a request that nobody reads would be taken for the next one.
            self._keep_alive = False
        if not self._keep_alive:
            headers.append((b"connection", b"close"))
        line = _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status
        return b"".join((line, *(b"%b: %b\r\n" % header for header in headers), b"\r\n"))

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

    def _finish(self) -> None:
        self.done = True
        self._wake()
        self._protocol.ended(keep_alive=self._keep_alive)

    async def fail(self) -> None:
        if self._head_sent or self._disconnected:
            self._protocol.abort()
            return
        body = b"Internal Server Error\n"
        self._start = {"status": 500, "headers": [(b"content-type", b"text/plain")]}
        await self.send({"type": "http.response.body", "body": body})

    def _wake(self) -> None:
        if self._changed and not self._changed.done():
            self._changed.set_result(None)
