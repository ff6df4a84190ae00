"""HTTP/1.1 (RFC 9112) on one connection. Requests go to an ASGI application.

A request with a body of up to 16 MiB is handed over whole, so that the usual call costs one task and one
write. A longer body, or one of unknown length beyond 1 MiB, is streamed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from http import HTTPStatus
from typing import cast
from urllib.parse import unquote

import httptools

from emulator.http.asgi import Headers, HttpScope, NoRoomError
from emulator.http.bounds.client_limits import SLICE_BYTES
from emulator.http.bounds.port_connections import Connections
from emulator.http.bounds.timeouts import Awaited, Waiting
from emulator.http.bounds.turns import Inflow, Piece
from emulator.http.http1.body_reader import BodyReader
from emulator.http.http1.closing_answer import close_with_answer, refusal
from emulator.http.http1.head_limits import HeadRefusedError, check_head
from emulator.http.http1.http1_exchange import BODY_HELD, Http1Exchange
from rdss_sandbox.machine.installation import explain_missing

_HELD_BODY_BYTES = 1 << 20
_WHOLE_BODY_BYTES = 1 << 24
_LONG_BODY_BYTES = 100_000
_SHORT_BODY_DIGITS = 3
_OFFER = (b"connection", b"upgrade", b"http2-settings")
_REQUESTS_WAIT = "requests before it are not answered"


class Http1Protocol(asyncio.Protocol):
    """Parses requests, runs them one after another, and keeps the connection open between them."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._limits = connections.limits
        self.date = connections.date.header
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[Http1Exchange] = deque()
        self._running: Http1Exchange | None = None
        self._arriving: Http1Exchange | None = None
        self._reader: BodyReader | None = None
        self._draining = False
        self._closing_answer: bytes | None = None
        self._writable: asyncio.Future[None] | None = None
        self._requests = 0
        self._in_head = False
        self._headers: Headers = []
        self._url = b""
        self._body_length = 0
        self._body_come = 0
        # Bytes since the last piece of a body: head, chunk extensions, trailers. Bounded by ``check_head``.
        self._unproductive = 0
        self._refused: HeadRefusedError | None = None

    # -- the transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.inflow = Inflow(self._connections.turns, self.transport, self._take)
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
        self.inflow.feed(data)

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None
        if self._running is None and (self._waiting or self._closing_answer):
            self._run_next()

    def drain(self) -> None:
        self._draining = True
        if self._running is None:
            self.transport.close()

    def abort(self) -> None:
        self.transport.abort()

    def waiting(self) -> Waiting | None:
        arriving = self._arriving
        if self._writable:
            return Waiting(Awaited.READER, self.transport.get_write_buffer_size())
        if self.inflow.held or self._closing_answer or (arriving and arriving.continue_expected):
            return None
        if self._in_head:
            return Waiting(Awaited.HEAD, self._requests)
        if arriving:
            come = self._reader.filled if self._reader else self._body_come
            return Waiting(Awaited.BODY, come // self._limits.body_step)
        return None if self._running else Waiting(Awaited.IDLE, self._requests)

    def give_up(self, waiting: Waiting) -> None:
        if waiting.what in (Awaited.READER, Awaited.IDLE):
            self.transport.abort()
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"{waiting.what.value} did not come in time")

    def no_room(self, error: NoRoomError) -> None:
        self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    # -- the parser's side

    def on_message_begin(self) -> None:
        self._requests += 1
        self._in_head = True
        self._unproductive = 0
        self._url = b""
        self._body_length = 0
        self._body_come = 0
        self._headers = []
        self._continue_expected = False

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self._continue_expected = True
        elif name == b"content-length" and len(value) > _SHORT_BODY_DIGITS:
            self._body_length = int(value)
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self._unproductive > SLICE_BYTES or len(self._headers) > self._limits.header_fields:
            self._check_sizes()
        self._in_head = False
        self._unproductive = 0
        if self._parser.should_upgrade():
            return
        exchange = Http1Exchange(self, self._scope(), keep_alive=self._parser.should_keep_alive())
        # Trailers, which come after the body, must not be added to the head's headers.
        self._headers = []
        exchange.continue_expected = self._continue_expected
        self._arriving = exchange
        if self._continue_expected:
            self._enqueue(exchange)

    def on_body(self, body: bytes) -> None:
        exchange = self._arriving
        assert exchange is not None
        self._body_come += len(body)
        self._unproductive = 0
        try:
            exchange.arrived(body)
        except NoRoomError as error:
            self._refused = HeadRefusedError(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
            raise
        if exchange.held > _HELD_BODY_BYTES:
            self._enqueue(exchange)
            if exchange.held > _HELD_BODY_BYTES:
                self.inflow.hold(BODY_HELD)

    def on_message_complete(self) -> None:
        exchange, self._arriving = self._arriving, None
        self._unproductive = 0
        if exchange:
            exchange.completed()
            self._enqueue(exchange)

    def _take(self, data: Piece) -> int:
        """Parse one slice and return its length. A body of known length is taken to its end in one step."""
        # Headers cost time for each byte, a body hardly any. So only headers are cut into slices.
        taken = self._parse(data, SLICE_BYTES)
        exchange, left = self._arriving, self._body_length - self._body_come
        if exchange is None or left <= 0:
            return taken
        rest = memoryview(data)[taken:]
        if _LONG_BODY_BYTES <= self._body_length <= _WHOLE_BODY_BYTES and not exchange.queued:
            return taken + self._read_past_parser(exchange, rest)
        return taken + (self._parse(rest, left) if rest else 0)

    def _parse(self, data: Piece, most: int) -> int:
        """Parse up to ``most`` bytes. Returns how many, or all when the parser must see no more."""
        piece = data if len(data) <= most else memoryview(data)[:most]
        self._unproductive += len(piece)
        try:
            self._parser.feed_data(piece)
            if self._headers or self._in_head or self._unproductive > SLICE_BYTES:
                self._check_sizes()
        except httptools.HttpParserUpgrade as upgrade:
            return self._answer_offer(data, upgrade.args[0])
        except (httptools.HttpParserError, HeadRefusedError) as error:
            why = f"This is not HTTP/1.1: {error}"
            refused = self._refused or HeadRefusedError(HTTPStatus.BAD_REQUEST, why)
            self._refuse(refused.status, str(refused))
            return len(data)
        return len(piece)

    def _check_sizes(self) -> None:
        try:
            check_head(self._limits, self._url, self._headers, self._unproductive)
        except HeadRefusedError as refused:
            # The parser replaces an exception of its callbacks.
            self._refused = refused
            raise

    def _read_past_parser(self, exchange: Http1Exchange, rest: memoryview) -> int:
        """Read a body that is handed over whole without the parser, and return its bytes in ``rest``.

        The parser expects the body still, so the next request gets a new one.
        """
        length, held = self._body_length, exchange.take_body()
        here = min(len(rest), length - len(held))

        def complete(body: bytes | bytearray) -> None:
            self._reader = None
            self._parser = httptools.HttpRequestParser(self)
            self._body_come = length
            self._connections.last_body = body
            exchange.arrived(body)
            self.on_message_complete()

        def complete_from_reader(body: bytearray) -> None:
            self.transport.set_protocol(self)
            complete(body)

        if len(held) + here == length:
            complete(b"".join((held, rest[:here])))
            return here
        try:
            self._reader = BodyReader(self, (held, rest[:here]), length, complete_from_reader)
        except NoRoomError as error:
            self.no_room(error)
        else:
            self.transport.set_protocol(self._reader)
        return here

    # -- the exchanges' side

    async def writable(self) -> None:
        if self._writable:
            await asyncio.shield(self._writable)

    def ended(self, *, keep_alive: bool) -> None:
        """The running exchange has its whole response: start the next one, or close."""
        self._running = None
        if self.transport.is_closing():
            return
        if not keep_alive or self._draining:
            self.transport.close()
            return
        if self.inflow.held or self._closing_answer:
            # The application may have answered without reading its body to the end.
            self.inflow.release(BODY_HELD)
            self._run_next()

    def _enqueue(self, exchange: Http1Exchange) -> None:
        if exchange.queued or self.transport.is_closing():
            return
        exchange.queued = True
        if self._running is None and not self._writable:
            self._run(exchange)
        else:
            self._waiting.append(exchange)
            self.inflow.hold(_REQUESTS_WAIT)

    def _run_next(self) -> None:
        """Run the next request, once the client has read enough of the last answer."""
        if self._writable or self.transport.is_closing():
            return
        if self._waiting:
            self._run(self._waiting.popleft())
        elif self._closing_answer:
            self._close_with(self._closing_answer)
        if not self._waiting:
            self.inflow.release(_REQUESTS_WAIT)

    def _run(self, exchange: Http1Exchange) -> None:
        self._running = exchange
        self._connections.start(self, exchange)

    def _scope(self) -> HttpScope:
        raw_path, _, query = self._url.partition(b"?")
        if not raw_path.startswith(b"/") and b"://" in raw_path:
            # RFC 9112 section 3.2.2: the host in the target counts, and that in Host does not.
            host, _, rest = raw_path.partition(b"://")[2].partition(b"/")
            raw_path = b"/" + rest
            self._headers = [*(each for each in self._headers if each[0] != b"host"), (b"host", host)]
        path = raw_path.decode("latin-1")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": self._parser.get_http_version(),
            "method": self._parser.get_method().decode(),
            "scheme": self._connections.scheme,
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
            "root_path": "",
            "headers": self._headers,
            "client": self._client,
            "server": self._server,
        }

    def _answer_offer(self, data: Piece, parsed: int) -> int:
        """Accept or decline the offer of another protocol, and return how many bytes of ``data`` are done.

        ``parsed`` is the length of the request's head in ``data``.
        """
        method = self._parser.get_method()
        if method == b"CONNECT":
            self._refuse(HTTPStatus.BAD_REQUEST, "This is not HTTP/1.1: there is no proxy here")
            return len(data)
        accepted = self._connections.sockets and self._running is None and _offers_websocket(self._headers)
        # A request that is declined is parsed again without its offer (h2c, RFC 7540 section 3.2).
        kept = [each for each in self._headers if accepted or each[0] not in _OFFER]
        lines = b"".join(b"%b: %b\r\n" % header for header in kept)
        head = b"%b %b HTTP/1.1\r\n%b\r\n" % (method, self._url, lines)
        if accepted:
            self._hand_over(head, bytes(memoryview(data)[parsed:]))
            return len(data)
        self._parser = httptools.HttpRequestParser(self)
        self._parse(head, len(head))
        return parsed

    def _hand_over(self, head: bytes, early: bytes) -> None:
        """Leave the connection to the WebSocket whose handshake is ``head``; ``early`` came behind it."""
        # Imported for the first client that needs it.
        try:
            from emulator.http.websocket.websocket_protocol import WebSocketProtocol
        except ModuleNotFoundError as error:
            self._refuse(HTTPStatus.NOT_IMPLEMENTED, explain_missing(error) or str(error))
            return
        self.inflow.stop()
        self._connections.closed(self)
        WebSocketProtocol(self._connections).begin(self.transport, head, early)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        """Refuse the arriving request, once those before it are answered, and close."""
        self.inflow.stop()
        arriving, self._arriving = self._arriving, None
        if self._reader:
            self._reader.let_go()
            self._reader = None
        if arriving:
            arriving.disconnect()
        answer = refusal(status, why, self._connections.date)
        if arriving and arriving is self._running:
            if arriving.answered:
                self.transport.abort()
            else:
                self._close_with(answer)
        elif self._running:
            self._closing_answer = answer
        else:
            self._close_with(answer)

    def _close_with(self, answer: bytes) -> None:
        self._closing_answer = answer
        close_with_answer(self.transport, answer, lambda: self.connection_lost(None))


def _offers_websocket(headers: Headers) -> bool:
    offers = dict(headers)
    tokens = [each.strip().lower() for each in offers.get(b"connection", b"").split(b",")]
    return b"upgrade" in tokens and offers.get(b"upgrade", b"").lower() == b"websocket"
