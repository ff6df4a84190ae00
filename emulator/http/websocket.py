"""WebSocket (RFC 6455) on one connection, for the ``websocket`` part of ASGI 3.

``wsproto`` does the protocol. This module connects transport and application: it joins the fragments of
messages, applies back-pressure both ways, pings, and closes with the right code.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Literal, TypeAlias

import h11
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    RejectConnection,
    RejectData,
    TextMessage,
)
from wsproto.utilities import RemoteProtocolError

from emulator.http.allowance import Allowance
from emulator.http.asgi import HttpScope, Message
from emulator.http.body_memory import ARRIVING, NO_ROOM
from emulator.http.closing_answer import close_with_answer, refusal
from emulator.http.connections import Connections
from emulator.http.limits import SLICE_BYTES
from emulator.http.timeouts import Awaited, Waiting
from emulator.http.turns import Inflow, Piece

Data: TypeAlias = TextMessage | BytesMessage

LONGEST_MESSAGE = 1 << 22
_HELD_BYTES = 1 << 20
_KEPT_BYTES = 100
"""The memory that a message takes in the inbox besides its content."""
_LONGEST_SLICE = 4 * SLICE_BYTES
_WRITTEN_AT_ONCE = 1 << 16
_PING_SECONDS = 20.0
_CLOSE_SECONDS = 5.0
_ABNORMAL = 1006
_GOING_AWAY = 1001
_TOO_MUCH = 1008
_TOO_BIG = 1009
_FAILED = 1011
_TRY_AGAIN_LATER = 1013
_INBOX_FULL = "what it said is not listened to yet"
_UNREAD = "what it was told is not read"


class WebSocketProtocol(asyncio.Protocol):
    """A connection taken over from HTTP/1.1 at its handshake.

    The application receives ``websocket.connect``, then each whole message of at most ``LONGEST_MESSAGE``
    bytes, and at last ``websocket.disconnect``. What it sends to a client that has left is dropped. Before it
    accepts, it may refuse the handshake with ``websocket.close`` (403) or a response of its own.
    """

    def __init__(self, connections: Connections, scope: HttpScope, transport: asyncio.Transport) -> None:
        self._connections = connections
        self._transport = transport
        self._inflow = Inflow(connections.turns, transport, self._take)
        self._slice = SLICE_BYTES
        self._pings = Allowance(connections.limits.socket_pings)
        self._fragments = Allowance(connections.limits.fragments)
        self._socket = WSConnection(ConnectionType.SERVER)
        self.scope = scope
        self._inbox: deque[Message] = deque([{"type": "websocket.connect"}])
        self._held = 0
        self._changed: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._pieces: list[Any] = []
        self._length = 0
        self._early = b""
        self._unwritten: list[bytes] = []
        self._unwritten_bytes = 0
        self._left: Message | None = None
        self._closing_code: int | None = None
        self._heard = False
        self._pinged = False
        self._timer: asyncio.TimerHandle | None = None
        self.done = False

    def begin(self, early: bytes) -> None:
        """Take over the transport and start the application. ``early`` came behind the handshake."""
        self._transport.set_protocol(self)
        self._connections.opened(self)
        self._early = early
        target = self.scope["raw_path"] + (b"?" if self.scope["query_string"] else b"")
        try:
            self._socket.initiate_upgrade_connection(
                self.scope["headers"], target + self.scope["query_string"]
            )
            (request,) = self._socket.events()
        except RemoteProtocolError as error:
            hint = error.event_hint if isinstance(error.event_hint, RejectConnection) else RejectConnection()
            status = hint.status_code if hint.status_code == 426 else 400
            self._refuse(status, [*hint.headers], f"This is no WebSocket handshake: {error}\n".encode())
        except h11.ProtocolError as error:
            self._put(refusal(HTTPStatus.BAD_REQUEST, str(error), self._connections.date))
            self._finish()
        else:
            self.scope["subprotocols"] = getattr(request, "subprotocols", [])
            self._connections.start(self, self)

    # -- the transport's side

    def data_received(self, data: bytes) -> None:
        if self._socket.connection is None:
            self._early += data
            if len(self._early) > _HELD_BYTES:
                self._transport.pause_reading()
            return
        self._heard = True
        self._inflow.feed(data)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._connections.closed(self)
        self._let_go()
        if self._timer:
            self._timer.cancel()
        self._leave(self._closing_code or _ABNORMAL)
        self.resume_writing()

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()
        # Nothing is read while nothing can be written, because frames such as Ping need an answer at once.
        self._inflow.hold(_UNREAD)

    def resume_writing(self) -> None:
        if self._writable and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None
        self._inflow.release(_UNREAD)

    def drain(self) -> None:
        """Send that the server goes away. The application is told when the client has answered."""
        if self._socket.state is ConnectionState.OPEN:
            self._close(_GOING_AWAY, "the server stops")

    def abort(self) -> None:
        self._transport.abort()

    @property
    def gone(self) -> bool:
        # The application learns it from ``receive``, which always starts with ``websocket.connect``.
        return False

    def waiting(self) -> Waiting | None:
        if self._writable:
            return Waiting(Awaited.READER, self._transport.get_write_buffer_size())
        if self._length and not self._inflow.held:
            return Waiting(Awaited.BODY, self._length // self._connections.limits.body_step)
        return None

    def give_up(self, waiting: Waiting) -> None:
        if waiting.what is Awaited.BODY:
            self._break_off(_TOO_MUCH, "the rest of a message did not come in time")
        else:
            self._transport.abort()

    # -- what the client sends

    def _take(self, data: Piece) -> int:
        """Process one slice and return its length. It is longer where frames are long: their number costs."""
        piece = bytes(memoryview(data)[: self._slice])
        if self._socket.state not in {ConnectionState.OPEN, ConnectionState.LOCAL_CLOSING}:
            return len(data)
        self._socket.receive_data(piece)
        count = 0
        for count, event in enumerate(self._socket.events(), 1):  # noqa: B007 -- read after the loop
            if why := self._objection(event):
                self._break_off(_TOO_MUCH, why)
                return len(data)
            self._handle(event)
        self._slice = min(2 * self._slice, _LONGEST_SLICE) if count <= 2 else SLICE_BYTES
        return len(piece)

    def _objection(self, event: Event) -> str | None:
        """Count a frame, and return why it is one too many, or None when it is not."""
        if isinstance(event, Ping | Pong):
            return None if self._pings.spend() else "too many pings"
        if isinstance(event, TextMessage | BytesMessage):
            ends_nothing = event.frame_finished and not event.message_finished
            return "too many fragments" if ends_nothing and not self._fragments.spend() else None
        return None

    def _handle(self, event: Event) -> None:
        if isinstance(event, TextMessage | BytesMessage):
            self._gather(event)
        elif isinstance(event, Ping):
            if self._socket.state is ConnectionState.OPEN:
                self._put(self._socket.send(event.response()))
        elif isinstance(event, CloseConnection):
            self._closed_by(event)

    def _gather(self, event: Data) -> None:
        if self._left or self._closing_code:
            return
        if event.data:
            size = _size(event.data)
            if not ARRIVING.take(size):
                self._break_off(_TRY_AGAIN_LATER, NO_ROOM)
                return
            self._pieces.append(event.data)
            self._length += size
        if self._length > LONGEST_MESSAGE:
            self._let_go()
            self._close(_TOO_BIG, f"a message has at most {LONGEST_MESSAGE} bytes")
        elif event.message_finished:
            self._deliver("text" if isinstance(event, TextMessage) else "bytes")

    def _deliver(self, kind: Literal["text", "bytes"]) -> None:
        size, pieces = self._length + _KEPT_BYTES, self._pieces
        self._let_go()
        whole = "".join(pieces) if kind == "text" else b"".join(pieces)
        self._inbox.append({"type": "websocket.receive", kind: whole, "size": size})
        self._held += size
        if self._held > _HELD_BYTES:
            self._inflow.hold(_INBOX_FULL)
        self._wake()

    def _let_go(self) -> None:
        """Drop the unfinished message, and give its memory back."""
        ARRIVING.give_back(self._length)
        self._length, self._pieces = 0, []

    def _closed_by(self, event: CloseConnection) -> None:
        if self._socket.state is ConnectionState.OPEN:
            # wsproto found an error in the input. The connection fails with the code of that error.
            self._put(self._socket.send(CloseConnection(event.code, event.reason)))
        elif self._socket.state is ConnectionState.REMOTE_CLOSING:
            self._put(self._socket.send(event.response()))
        self._close_transport()
        self._leave(self._closing_code or int(event.code), event.reason or "")

    # -- the application's side

    async def receive(self) -> Message:
        while not self._inbox:
            if self._left:
                return self._left
            self._changed = asyncio.get_running_loop().create_future()
            await self._changed
        message = self._inbox.popleft()
        if size := message.pop("size", 0):
            self._held -= size
            if self._held <= _HELD_BYTES:
                self._inflow.release(_INBOX_FULL)
        return message

    async def send(self, message: Message) -> None:
        kind = message["type"].removeprefix("websocket.")
        if self._left or self._closing_code or self.done:
            return
        if kind == "send":
            text = message.get("text")
            event = BytesMessage(message["bytes"]) if text is None else TextMessage(text)
            self._put(self._socket.send(event))
        elif kind == "accept":
            self._accept(message)
        elif kind == "close":
            self._end(message.get("code") or 1000, message.get("reason") or "")
        else:
            self._answer(kind, message)
        if self._writable:
            await asyncio.shield(self._writable)

    async def fail(self, status: int = 500, why: str = "Internal Server Error") -> None:
        if self._socket.state is ConnectionState.CONNECTING:
            self._refuse(status, [], f"{why}\n".encode())
        elif self._socket.state is ConnectionState.OPEN:
            self._end(_FAILED, "the server failed")
        else:
            self.abort()

    def _accept(self, message: Message) -> None:
        headers = [*message.get("headers", ()), self._connections.date.header()]
        accepted = AcceptConnection(subprotocol=message.get("subprotocol"), extra_headers=headers)
        self._put(self._socket.send(accepted))
        self._ping_later()
        if self._early:
            early, self._early = self._early, b""
            self._transport.resume_reading()
            self.data_received(early)

    def _end(self, code: int, reason: str) -> None:
        self.done = True
        if self._socket.connection is None:
            self._refuse(403, [], b"Forbidden\n")
        else:
            self._close(code, reason)

    def _answer(self, kind: str, message: Message) -> None:
        """Refuse the handshake with the application's own response."""
        if kind == "http.response.start":
            refusal = RejectConnection(
                status_code=message["status"],
                headers=[
                    *message.get("headers", ()),
                    self._connections.date.header(),
                    (b"connection", b"close"),
                ],
                has_body=True,
            )
            self._put(self._socket.send(refusal))
            return
        more = bool(message.get("more_body"))
        piece = RejectData(data=message.get("body", b""), body_finished=not more)
        self._put(self._socket.send(piece))
        if not more:
            self._finish()

    def _refuse(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        length = (b"content-length", b"%d" % len(body))
        close = (b"connection", b"close")
        refusal = RejectConnection(
            status_code=status,
            headers=[*headers, self._connections.date.header(), length, close],
            has_body=True,
        )
        self._put(self._socket.send(refusal))
        self._put(self._socket.send(RejectData(data=body)))
        self._finish()

    def _put(self, data: bytes) -> None:
        """Queue ``data``, to be written with everything else from this turn of the loop."""
        self._unwritten.append(data)
        self._unwritten_bytes += len(data)
        if self._unwritten_bytes >= _WRITTEN_AT_ONCE:
            self._flush()
        elif len(self._unwritten) == 1:
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        if self._unwritten:
            data, self._unwritten, self._unwritten_bytes = b"".join(self._unwritten), [], 0
            if not self._transport.is_closing():
                self._transport.write(data)

    # -- closing

    def _close_transport(self) -> None:
        self._flush()
        self._transport.close()

    def _finish(self) -> None:
        self.done = True
        self._close_transport()

    def _close(self, code: int, reason: str) -> None:
        """Send a close frame, and wait five seconds for the client's."""
        if self._closing_code is not None or self._socket.state is not ConnectionState.OPEN:
            return
        self._closing_code = code
        self._put(self._socket.send(CloseConnection(code, reason)))
        self._inflow.release(_INBOX_FULL)
        self._after(_CLOSE_SECONDS, self._transport.abort)

    def _break_off(self, code: int, reason: str) -> None:
        """Send a close frame, and read no more from a client that exceeded a limit."""
        self._let_go()
        self._close(code, reason)
        self._inflow.stop()
        self._flush()
        self._leave(code, reason)
        if not self._transport.is_closing():
            close_with_answer(self._transport, b"", lambda: self.connection_lost(None))

    def _leave(self, code: int, reason: str = "") -> None:
        if self._left is None:
            self._left = {"type": "websocket.disconnect", "code": code, "reason": reason}
            self.done = True
            self._wake()

    def _ping_later(self) -> None:
        self._heard = False
        self._after(_PING_SECONDS, self._ping)

    def _ping(self) -> None:
        """Ping the client. One that sent nothing since the last ping is gone."""
        if self._pinged and not self._heard and self._transport.is_reading():
            self._transport.abort()
            return
        self._pinged = True
        self._put(self._socket.send(Ping()))
        self._ping_later()

    def _after(self, seconds: float, do: Callable[[], None]) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, do)

    def _wake(self) -> None:
        if self._changed and not self._changed.done():
            self._changed.set_result(None)


def _size(data: str | bytes | bytearray) -> int:
    if isinstance(data, str) and not data.isascii():
        return len(data.encode())
    return len(data)
