"""WebSocket (RFC 6455) by uvicorn and websockets, within the limits of a port.

uvicorn speaks the protocol and joins the pieces of a message. What it lacks is added here: turns, limits of
frames that end no message, memory that all ports share, time-outs, and closing codes that a client can read
while it is still sending.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final, cast

from uvicorn import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.exceptions import InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request

from emulator.http.asgi import Message, answer
from emulator.http.bounds.allowance import Allowance
from emulator.http.bounds.body_memory import ARRIVING, NO_ROOM
from emulator.http.bounds.client_limits import MESSAGE_BYTES, SLICE_BYTES
from emulator.http.bounds.port_connections import Connections, HttpExchange
from emulator.http.bounds.timeouts import Awaited, Waiting
from emulator.http.bounds.turns import Piece
from emulator.http.http1.closing_answer import close_with_answer, refusal
from emulator.http.websocket.transport import JoiningTransport

PING_SECONDS: Final = 20.0
"""The time between two pings, and the time for the answer."""
_LONGEST_SLICE = 16 * SLICE_BYTES
_ABNORMAL = 1006
_GOING_AWAY = 1001
_TOO_MUCH = 1008
_FAILED = 1011
_TRY_AGAIN_LATER = 1013
_UNACCEPTED = "the handshake is not answered"
_UNREAD = "what it was told is not read"


def _configure(connections: Connections) -> Config:
    """What the protocol reads of a configuration; uvicorn's server is not used."""
    return Config(
        connections.app,
        ws="none",
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        ws_max_size=MESSAGE_BYTES,
        ws_per_message_deflate=False,
        lifespan="off",
        interface="asgi3",
        proxy_headers=False,
        log_config=None,
        log_level=logging.CRITICAL,
        access_log=False,
    )


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """A connection taken over from HTTP/1.1 at its handshake. ``Connections`` runs the application.

    What the application sends to a client that has left is dropped. Before it accepts, it may refuse the
    handshake with ``websocket.close`` (403) or a response of its own.
    """

    transport: JoiningTransport

    def __init__(self, connections: Connections) -> None:
        super().__init__(_configure(connections), ServerState(), {}, asyncio.get_running_loop())
        self._connections = connections
        self._pings = Allowance(connections.limits.socket_pings)
        self._fragments = Allowance(connections.limits.fragments)
        self._slice = SLICE_BYTES
        self._gathered = 0
        self._counted = 0
        self._left = _ABNORMAL
        self._broken_off = False

    def begin(self, transport: asyncio.Transport, head: bytes, early: bytes) -> None:
        """Take over the transport and start the application. ``early`` came behind the handshake."""
        joined = JoiningTransport(transport)
        self._inflow = joined.open_inflow(self._connections.turns, self._take)
        self.connection_made(joined)
        transport.set_protocol(self)
        self._connections.opened(self)
        self.conn.receive_data(head)
        (request,) = self.conn.events_received() or (None,)
        if not isinstance(request, Request):
            # websockets takes 128 headers, and 8 KB for each line.
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "its headers are too long")
        elif any(version != "13" for version in request.headers.get_all("Sec-WebSocket-Version")):
            self._refuse(HTTPStatus.UPGRADE_REQUIRED, "its version is not 13")
        elif self.conn.accept(request).status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            self._refuse(HTTPStatus.BAD_REQUEST, str(self.conn.handshake_exc))
        else:
            self._inflow.hold(_UNACCEPTED)
            self._inflow.feed(early)
            self.handle_connect(request)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        why, version = f"This is no WebSocket handshake: {why}", b"sec-websocket-version: 13\r\n"
        self._close_with(refusal(status, why, self._connections.date, version))

    def _close_with(self, answer: bytes) -> None:
        self.transport.flush()
        close_with_answer(self.transport.real, answer, lambda: self.connection_lost(None))

    # -- the transport's side

    def data_received(self, data: bytes) -> None:
        self._inflow.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.closed(self)
        self._inflow.stop()
        self._count(0)
        self.queue.put_nowait({"type": "websocket.disconnect", "code": self._left})
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        # Nothing is read while nothing can be written, because frames such as Ping need an answer at once.
        self._inflow.hold(_UNREAD)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._inflow.release(_UNREAD)

    def drain(self) -> None:
        if self.handshake_complete:
            self._break_off(_GOING_AWAY, "the server stops")
        else:
            self.transport.close()

    def abort(self) -> None:
        self.transport.abort()

    def waiting(self) -> Waiting | None:
        if not self.writable.is_set():
            return Waiting(Awaited.READER, self.transport.real.get_write_buffer_size())
        if self._arriving and not self._inflow.held:
            return Waiting(Awaited.BODY, self._arriving // self._connections.limits.body_step)
        return None

    def give_up(self, waiting: Waiting) -> None:
        if waiting.what is Awaited.BODY:
            self._break_off(_TOO_MUCH, "the rest of a message did not come in time")
        else:
            self.transport.abort()

    def keepalive_timeout(self) -> None:
        if self._inflow.held and self.ping_timeout:
            # Its pong may be among what we have not read yet.
            self.pong_timer = self.loop.call_later(self.ping_timeout, self.keepalive_timeout)
        else:
            super().keepalive_timeout()

    # -- what the client sends

    @property
    def _arriving(self) -> int:
        """Bytes of a message that is not complete."""
        return self._gathered + len(self.conn.reader.buffer)

    def _take(self, data: Piece) -> int:
        """Process one slice and return its length. It is longer where frames are long: their number costs."""
        piece = bytes(memoryview(data)[: self._slice])
        self.conn.receive_data(piece)
        frames = cast("list[Frame]", self.conn.events_received())
        # A text that is none is an error too many where another one has closed the connection.
        with suppress(InvalidState):
            for frame in frames:
                self._on_frame(frame)
        self._slice = min(2 * self._slice, _LONGEST_SLICE) if len(frames) <= 2 else SLICE_BYTES
        if self.conn.parser_exc is not None:
            self.handle_parser_exception()
        elif not self._broken_off and not self._count(self._arriving):
            self._break_off(_TRY_AGAIN_LATER, NO_ROOM)
        return len(piece)

    def _on_frame(self, frame: Frame) -> None:
        if self._broken_off:
            return
        match frame.opcode:
            case Opcode.PING | Opcode.PONG if not self._pings.spend():
                self._break_off(_TOO_MUCH, "too many pings")
            case Opcode.PING:
                self.handle_ping()
            case Opcode.PONG:
                self.handle_pong(frame)
            case Opcode.CLOSE:
                self.handle_close(frame)
            case _ if not frame.fin and not self._fragments.spend():
                self._break_off(_TOO_MUCH, "too many fragments")
            case opcode:
                self._gathered = 0 if frame.fin else self._gathered + len(frame.data)
                handle = {Opcode.TEXT: self.handle_text, Opcode.BINARY: self.handle_bytes}
                handle.get(opcode, self.handle_cont)(frame)

    def handle_parser_exception(self) -> None:
        close = self.conn.close_sent
        assert close is not None
        self._break_off(close.code, close.reason)

    def _count(self, size: int) -> bool:
        """Count ``size`` bytes against the memory of all ports, and return whether there was room."""
        if size <= self._counted:
            ARRIVING.give_back(self._counted - size)
        elif not ARRIVING.take(size - self._counted):
            return False
        self._counted = size
        return True

    def _break_off(self, code: int, reason: str) -> None:
        """Send a close frame, and process no more of what the client sends."""
        if self._broken_off:
            return
        self._broken_off = self.close_sent = True
        self._left = code
        self.stop_keepalive()
        self.frames, self._gathered = [], 0
        self._count(0)
        self.conn.fail(code, reason)
        self._inflow.stop()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self._close_with(b"".join(self.conn.data_to_send()))

    # -- the application's side

    async def run_asgi(self) -> None:
        self._connections.start(self, cast("HttpExchange", self))

    async def send(self, message: Any) -> None:
        if self.gone:
            return
        if self.handshake_complete:
            with suppress(ClientDisconnected):
                await super().send(message)
        else:
            await self._send_handshake(message)

    async def _send_handshake(self, message: Message) -> None:
        kind = message["type"]
        if kind == "websocket.close":
            await answer(self.send, HTTPStatus.FORBIDDEN, [], b"Forbidden\n")
            return
        if kind.startswith("http."):
            message = {**message, "type": f"websocket.{kind}"}
        if not kind.endswith("body"):
            headers = [*message.get("headers", ()), self._connections.date.header()]
            message = {**message, "headers": headers}
        await super().send(cast("Any", message))
        self._inflow.release(_UNACCEPTED)

    @property
    def gone(self) -> bool:
        return self.close_sent or self.disconnected

    @property
    def done(self) -> bool:
        return self.gone

    async def fail(self, status: int = 500, why: str = "Internal Server Error") -> None:
        if self.handshake_complete:
            await self.send({"type": "websocket.close", "code": _FAILED, "reason": "the server failed"})
        else:
            await answer(self.send, status, [(b"content-type", b"text/plain")], f"{why}\n".encode())
