"""HTTP/1.1 (RFC 9112) on one connection, with requests handed to an ASGI application.

A request whose body is short enough is handed over whole, so that the usual
call costs one task and one write; a long body is streamed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import cast
from urllib.parse import unquote

import httptools

from emulator.listeners.asgi import Headers, HttpScope
from emulator.listeners.body_reader import BodyReader
from emulator.listeners.connections import Connections
from emulator.listeners.http1_exchange import STATUS_LINES, Exchange

_HELD_BODY_BYTES = 1 << 20
_WHOLE_BODY_BYTES = 1 << 24
_LONG_BODY_DIGITS = 5
_OFFER = (b"connection", b"upgrade", b"http2-settings")


class Http1Protocol(asyncio.Protocol):
    """Parses requests, runs them one after another, keeps the connection open between them."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[Exchange] = deque()
        self._running: Exchange | None = None
        self._arriving: Exchange | None = None
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
        exchange = Exchange(self, self._scope(), keep_alive=self._parser.should_keep_alive())
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

    def _enqueue(self, exchange: Exchange) -> None:
        if exchange.queued or self.transport.is_closing():
            return
        exchange.queued = True
        if self._running is None:
            self._run(exchange)
        else:
            self._waiting.append(exchange)
            self.transport.pause_reading()

    def _run(self, exchange: Exchange) -> None:
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
        self.transport.write(STATUS_LINES[400] + head + body)
        self.transport.close()
