"""HTTP/1.1 by uvicorn, within the limits of a port.

    transport -> Inflow (slices, in turns) -> parser -> RequestResponseCycle -> Connections.start -> app
                                                 |
                                                 +-> WebSocketProtocol (Upgrade)

uvicorn parses requests, runs those of a connection one after another, and frames the answers. What it lacks
is added here: turns, limits of a head, time-outs, the number of connections, and a last answer that a client
can read while it is still sending.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, cast

import httptools
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from emulator.http.asgi import Headers, HttpScope, Message
from emulator.http.asgi_protocols.transport import UvicornTransport
from emulator.http.bounds.connections import Connections
from emulator.http.bounds.limits import SLICE_BYTES
from emulator.http.bounds.timeouts import Awaited, Waiting
from emulator.http.bounds.turns import Piece
from emulator.http.http1.closing_answer import close_with_answer, refusal
from emulator.http.http1.head_limits import RequestRefusedError, check_head
from rdss_sandbox.machine.installation import explain_missing

_BODILESS = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_OFFER = (b"connection", b"upgrade", b"http2-settings")


class HttpProtocol(HttpToolsProtocol):
    """One connection. ``Connections`` runs its requests."""

    transport: UvicornTransport

    def __init__(self, connections: Connections, config: Config, state: ServerState) -> None:
        super().__init__(config, state, {}, asyncio.get_running_loop())
        self._connections = connections
        self._limits = connections.limits
        self.date = connections.date.header
        self.url = b""
        self.headers = []
        self._requests = 0
        self._in_head = False
        self._body_arrives = False
        self._body_left = 0
        self._body_come = 0
        # Bytes since the last piece of a body: head, chunk extensions, trailers. Bounded by ``check_head``.
        self._unproductive = 0
        self._refused: RequestRefusedError | None = None
        self._running: RequestResponseCycle | None = None
        self._refusal: tuple[HTTPStatus, str] | None = None

    # -- the transport's side

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if not self._connections.admits(transport):
            return
        joined = UvicornTransport(transport)
        self._inflow = joined.open_inflow(self._connections.turns, self._take)
        super().connection_made(joined)
        self._connections.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.closed(self)
        self._inflow.stop()
        self.pipeline.clear()
        if self._running:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._inflow.feed(data)

    def drain(self) -> None:
        self.shutdown()

    def abort(self) -> None:
        self.transport.abort()

    def waiting(self) -> Waiting | None:
        if self.flow.write_paused:
            return Waiting(Awaited.READER, self.transport.real.get_write_buffer_size())
        if self._inflow.held or self._refusal:
            return None
        if self._in_head:
            return Waiting(Awaited.HEAD, self._requests)
        if self._body_arrives:
            expects = self.cycle.waiting_for_100_continue
            return None if expects else Waiting(Awaited.BODY, self._body_come // self._limits.body_step)
        if self._running:
            return None
        return Waiting(Awaited.IDLE if self._requests else Awaited.HEAD, self._requests)

    def give_up(self, waiting: Waiting) -> None:
        if waiting.what in (Awaited.READER, Awaited.IDLE) or not self._requests:
            self.transport.abort()
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"{waiting.what.value} did not come in time")

    # -- the parser's side

    def _take(self, data: Piece) -> int:
        """Parse one slice and return its length. The rest of a body of known length costs nothing."""
        taken = self._parse(data, SLICE_BYTES)
        if self._body_arrives and self._body_left > 0 and taken < len(data):
            taken += self._parse(memoryview(data)[taken:], self._body_left)
        return taken

    def _parse(self, data: Piece, most: int) -> int:
        """Parse up to ``most`` bytes. Returns how many, or all when the parser must see no more."""
        piece = data if len(data) <= most else memoryview(data)[:most]
        self._unproductive += len(piece)
        try:
            self.parser.feed_data(piece)
            if self._in_head or self._unproductive > SLICE_BYTES:
                self._check_head()
        except httptools.HttpParserUpgrade as upgrade:
            return self._upgrade_at(data, upgrade.args[0])
        except (httptools.HttpParserError, RequestRefusedError) as error:
            refused = self._refused or error
            if isinstance(refused, RequestRefusedError):
                self._refuse(refused.status, str(refused))
            else:
                self._refuse(HTTPStatus.BAD_REQUEST, f"This is not HTTP/1.1: {error}")
            return len(data)
        return len(piece)

    def _check_head(self) -> None:
        try:
            check_head(self._limits, self.url, self.headers, self._unproductive)
        except RequestRefusedError as refused:
            # The parser replaces an exception of its callbacks.
            self._refused = refused
            raise

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._requests += 1
        self._in_head = True
        self._unproductive = self._body_come = self._body_left = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            # Trailers must not be added to the headers, which the guard has seen.
            return
        name = name.lower()
        if name == b"content-length":
            self._body_left = int(value)
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self._unproductive > SLICE_BYTES or len(self.headers) > self._limits.header_fields:
            self._check_head()
        self._in_head = False
        self._unproductive = 0
        if not self.url.startswith(b"/") and b"://" in self.url:
            # RFC 9112 section 3.2.2: the host in the target counts, and that in Host does not.
            host, _, rest = self.url.partition(b"://")[2].partition(b"/")
            self.url = b"/" + rest
            self.headers[:] = [*(each for each in self.headers if each[0] != b"host"), (b"host", host)]
        if not self.parser.should_upgrade():
            self._body_arrives = True
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unproductive = 0
        self._body_come += len(body)
        self._body_left -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unproductive = 0
        if not self.parser.should_upgrade():
            self._body_arrives = False
            super().on_message_complete()

    # -- the requests

    def _start_asgi_task(self, cycle: RequestResponseCycle, _app: object) -> None:
        self._running = cycle
        self._connections.start(self, _Exchange(self, cycle))

    def on_response_complete(self) -> None:
        # uvicorn's own sets a timer each time. Here ``ClientTimeouts`` waits for the next request.
        self._running = None
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._refusal:
            self.close_with(*self._refusal)

    def _upgrade_at(self, data: Piece, parsed: int) -> int:
        """Accept or decline the offer of another protocol, and return how many bytes of ``data`` are done.

        ``parsed`` is the length of the request's head in ``data``.
        """
        method = self.parser.get_method()
        kept = self.headers
        accepted = self._get_upgrade() == b"websocket" and self._running is None
        if not accepted:
            # The request is parsed again without its offer of another protocol (h2c, RFC 7540 section 3.2).
            kept = [header for header in kept if header[0] not in _OFFER]
        lines = b"".join(b"%b: %b\r\n" % header for header in kept)
        head = b"%b %b HTTP/1.1\r\n%b\r\n" % (method, self.url, lines)
        if method == b"CONNECT":
            self._refuse(HTTPStatus.BAD_REQUEST, "This is not HTTP/1.1: there is no proxy here")
            return len(data)
        if not accepted:
            self.parser = httptools.HttpRequestParser(self)
            self._parse(head, len(head))
            return parsed
        # Imported for the first client that needs it.
        try:
            from emulator.http.asgi_protocols.websocket import WebSocketProtocol
        except ModuleNotFoundError as error:
            self._refuse(HTTPStatus.NOT_IMPLEMENTED, explain_missing(error) or str(error))
            return len(data)

        self._inflow.stop()
        self._connections.closed(self)
        self.connections.discard(self)
        socket = WebSocketProtocol(self._connections, self.config, self.server_state)
        socket.begin(self.transport.real, head, bytes(memoryview(data)[parsed:]))
        return len(data)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        """Refuse the arriving request, once those before it are answered, and close."""
        self._inflow.stop()
        arriving = self.cycle if self._body_arrives else None
        if arriving and arriving.response_started:
            # Its answer has begun, or is there: another one would be taken for that of the next request.
            self.transport.abort()
        elif self._running and self._running is not arriving:
            self._refusal = status, why
        else:
            if arriving:
                arriving.disconnected = True
                arriving.message_event.set()
            self.close_with(status, why)

    def close_with(self, status: HTTPStatus, why: str) -> None:
        """Answer as the last thing on this connection."""
        self._inflow.stop()
        said = refusal(status, why, self._connections.date)
        self.transport.flush()
        close_with_answer(self.transport.real, said, lambda: self.connection_lost(None))


class _Exchange:
    """A request of uvicorn's, as ``Connections`` runs it.

    The answer gets a Date, and a Content-Length where it is whole.
    """

    def __init__(self, protocol: HttpProtocol, cycle: RequestResponseCycle) -> None:
        self._protocol = protocol
        self._cycle = cycle
        self._start: Message | None = None
        self.scope = cast("HttpScope", cycle.scope)
        self.receive: Any = cycle.receive

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._start:
            start, self._start = self._start, None
            headers: Headers = [self._protocol.date(), *start.get("headers", ())]
            if not message.get("more_body") and start["status"] not in _BODILESS:
                names = [name.lower() for name, _ in headers]
                if b"content-length" not in names:
                    headers.append((b"content-length", b"%d" % len(message.get("body", b""))))
            self._protocol.transport.held = True
            await self._cycle.send(cast("Any", {**start, "headers": headers}))
        await self._cycle.send(cast("Any", message))
        self._protocol.transport.held = False
        self._protocol.transport.flush()

    @property
    def gone(self) -> bool:
        return self._cycle.disconnected

    @property
    def done(self) -> bool:
        return self._cycle.response_complete or self._cycle.disconnected

    def abort(self) -> None:
        self._protocol.abort()

    async def fail(self, status: int = 500, why: str = "Internal Server Error") -> None:
        if self._cycle.response_started:
            self.abort()
        else:
            self._cycle.disconnected = True
            self._protocol.close_with(HTTPStatus(status), why)
