"""HTTP/2 (RFC 9113) on one connection. Each stream is a request for an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import unquote

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from emulator.clock import stopwatch
from emulator.http.asgi import App, Headers, HttpScope, NoRoomError, Receive, Send, answer
from emulator.http.bounds.client_limits import SLICE_SECONDS
from emulator.http.bounds.port_connections import Connections
from emulator.http.bounds.timeouts import Awaited, Waiting
from emulator.http.bounds.turns import Inflow, Piece
from emulator.http.http1.closing_answer import close_with_answer
from emulator.http.http2.conduct import Conduct, Kind
from emulator.http.http2.http2_stream import Http2Stream

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEAD: Final = 9
_GOAWAY_LEAST: Final = 8
_STREAM_WINDOW: Final = 1 << 22
_CONNECTION_WINDOW: Final = 1 << 24
_MAX_FRAME: Final = 1 << 18
_UNBOUNDED: Final = (1 << 31) - 1


class Http2Protocol(asyncio.Protocol):
    """Many streams on one connection, with flow control in both directions.

    Frames are cut here and given to h2 one by one. So each is counted, and other connections have their turn
    between them. A client's GOAWAY is kept from h2, which takes it for the end: the running streams are still
    answered (RFC 9113 section 6.8).
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._limits = connections.limits
        self.date = connections.date.header
        config = h2.config.H2Configuration(client_side=False, header_encoding=None)
        self.frames = h2.connection.H2Connection(config)
        self.unsent = 0
        self._conduct = Conduct(self._limits)
        self._streams: dict[int, Http2Stream] = {}
        self._answering = 0
        self._requests = 0
        self._received = 0
        self._greeted = False
        self._partial = False
        self._draining = False
        self._ended = False
        self._transport_full = False
        self._window_changed: set[asyncio.Future[None]] = set()
        self._handlers: dict[type, Callable[[Any], None]] = {
            h2.events.RequestReceived: self._on_request,
            h2.events.DataReceived: self._on_data,
            h2.events.StreamEnded: self._on_stream_ended,
            h2.events.StreamReset: self._on_reset,
            h2.events.WindowUpdated: self._on_window,
            h2.events.RemoteSettingsChanged: self._on_window,
        }

    # -- the transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._inflow = Inflow(self._connections.turns, self.transport, self._take)
        self._client = transport.get_extra_info("peername")
        self._server = transport.get_extra_info("sockname")
        self._connections.opened(self)
        # A client that does not know our limits yet makes no error by exceeding them: until it has
        # acknowledged them, streams beyond the limit are refused one by one.
        known = {
            SettingCodes.MAX_CONCURRENT_STREAMS: _UNBOUNDED,
            SettingCodes.MAX_HEADER_LIST_SIZE: 2 * self._limits.head_bytes,
        }
        self.frames.local_settings = h2.settings.Settings(client=False, initial_values=known)
        self.frames.decoder.max_header_list_size = 2 * self._limits.head_bytes
        self.frames.initiate_connection()
        self.frames.update_settings(
            {
                SettingCodes.INITIAL_WINDOW_SIZE: _STREAM_WINDOW,
                SettingCodes.MAX_FRAME_SIZE: _MAX_FRAME,
                SettingCodes.MAX_CONCURRENT_STREAMS: self._limits.streams,
            }
        )
        self.frames.increment_flow_control_window(_CONNECTION_WINDOW)
        # h2 looks up the maximum once for each chunk. A long frame in the chunk that acknowledges the new
        # maximum would be refused.
        self.frames.max_inbound_frame_size = _MAX_FRAME
        self.flush()

    def connection_lost(self, _exc: Exception | None) -> None:
        self._connections.closed(self)
        self._ended = True
        self._disconnect_streams()

    def data_received(self, data: bytes) -> None:
        self._inflow.feed(data)

    def pause_writing(self) -> None:
        self._transport_full = True
        # Nothing is read while nothing can be written, because frames such as PING need an answer at once.
        self._inflow.hold("what it was sent is not read")

    def resume_writing(self) -> None:
        self._transport_full = False
        self._inflow.release("what it was sent is not read")
        self._wake_senders()

    def drain(self) -> None:
        self._draining = True
        if not self._streams:
            self._say_goodbye()

    def abort(self) -> None:
        self.transport.abort()

    def waiting(self) -> Waiting | None:
        if self._transport_full:
            return Waiting(Awaited.READER, self.transport.get_write_buffer_size())
        if self._inflow.held:
            return None
        if self._partial or self._conduct.in_headers:
            return Waiting(Awaited.HEAD, self._requests if self._conduct.in_headers else self._received)
        return None if self._streams else Waiting(Awaited.IDLE, self._requests)

    def give_up(self, waiting: Waiting) -> None:
        if waiting.what is Awaited.READER:
            self.transport.abort()
        else:
            self._say_goodbye()

    def flush(self) -> None:
        """Write the bytes that h2 has ready."""
        if data := self.frames.data_to_send():
            self.transport.write(data)

    # -- what the client sends

    def _take(self, data: Piece) -> int:
        """Process whole frames for one slice of time, and return how many bytes of ``data`` they had."""
        view, at, until = memoryview(data), 0, stopwatch() + SLICE_SECONDS
        if not self._greeted:
            self._greeted = True
            at = len(PREFACE)
            self.frames.receive_data(PREFACE)
        self._partial = False
        while len(view) - at >= _FRAME_HEAD:
            end = at + _FRAME_HEAD + int.from_bytes(view[at : at + 3])
            if end - at > _FRAME_HEAD + _MAX_FRAME:
                self._end(ErrorCodes.FRAME_SIZE_ERROR, f"a frame has {_MAX_FRAME} bytes at most")
            elif end <= len(view):
                self._on_frame(bytes(view[at:end]))
                at = end
            if self._ended:
                return len(view)
            if end > len(view) or stopwatch() > until:
                break
        self._partial = at < len(view)
        self.flush()
        return at

    def _on_frame(self, frame: bytes) -> None:
        self._received += 1
        kind, length, on_stream = frame[3], len(frame) - _FRAME_HEAD, any(frame[5:9])
        if why := self._conduct.objection(kind, frame[4], length):
            self._end(ErrorCodes.ENHANCE_YOUR_CALM, why)
            return
        if kind == Kind.GOAWAY and not on_stream and length >= _GOAWAY_LEAST:
            self.drain()
            return
        try:
            events = self.frames.receive_data(frame)
        except h2.exceptions.ProtocolError:
            self._leave()
            return
        for event in events:
            handle = self._handlers.get(type(event))
            if handle and not self._ended:
                handle(event)

    def _on_request(self, event: h2.events.RequestReceived) -> None:
        assert event.stream_id is not None
        self._requests += 1
        too_many = self._answering >= self._limits.streams or self.unsent > self._limits.unsent_bytes
        if self._draining or too_many:
            self.reset(event.stream_id, ErrorCodes.REFUSED_STREAM)
            return
        received = event.headers or []
        stream = Http2Stream(self, event.stream_id, self._scope(received))
        self._streams[event.stream_id] = stream
        self._connections.streams.add(stream)
        self._answering += 1
        self._connections.start(self, stream, self._refusal(received), self._answered)

    def _answered(self) -> None:
        self._answering -= 1

    def _refusal(self, received: list[tuple[bytes, bytes]]) -> App | None:
        """The application that refuses a request with too many or too long headers; None for others."""
        limits = self._limits
        if len(received) > limits.header_fields:
            status, why = 431, f"a request has {limits.header_fields} headers at most"
        elif sum(len(name) + len(value) for name, value in received) > limits.head_bytes:
            status, why = 431, f"the headers of a request have {limits.head_bytes} bytes at most"
        elif any(name == b":path" and len(value) > limits.target_bytes for name, value in received):
            status, why = 414, f"a target has {limits.target_bytes} bytes at most"
        else:
            return None
        return partial(_refuse, HTTPStatus(status), why)

    def _on_data(self, event: h2.events.DataReceived) -> None:
        assert event.stream_id is not None
        stream = self._streams.get(event.stream_id)
        length = event.flow_controlled_length or 0
        if stream is None:
            self.consumed(event.stream_id, length)
            return
        try:
            stream.arrived(event.data or b"", length)
        except NoRoomError:
            self.reset(event.stream_id, ErrorCodes.ENHANCE_YOUR_CALM)
            stream.disconnect()
            self.consumed(event.stream_id, length)

    def _on_stream_ended(self, event: h2.events.StreamEnded) -> None:
        if stream := self._streams.get(event.stream_id or 0):
            stream.completed()

    def _on_reset(self, event: h2.events.StreamReset) -> None:
        if stream := self._streams.get(event.stream_id or 0):
            self._forget(event.stream_id or 0)
            stream.disconnect()
        if not event.remote_reset and (why := self._conduct.cancelled()):
            self._end(ErrorCodes.ENHANCE_YOUR_CALM, why)
        self._wake_senders()

    def _on_window(self, _event: h2.events.Event) -> None:
        self._wake_senders()

    # -- the streams' side

    async def room(self, stream_id: int) -> int:
        """Wait until data may be sent on a stream, and return how many bytes; 0 when the stream is gone."""
        while stream_id in self._streams and not self.transport.is_closing():
            try:
                window = self.frames.local_flow_control_window(stream_id)
            except h2.exceptions.ProtocolError:
                return 0
            if window > 0 and not self._transport_full:
                return min(window, self.frames.max_outbound_frame_size)
            changed = asyncio.get_running_loop().create_future()
            self._window_changed.add(changed)
            await changed
        return 0

    def ended(self, stream_id: int, *, body_read: bool) -> None:
        """End a stream whose response is complete. A client that still sends its request is told to stop."""
        if not body_read:
            self.reset(stream_id, ErrorCodes.NO_ERROR)
        self._forget(stream_id)

    def reset(self, stream_id: int, code: ErrorCodes) -> None:
        """Cancel one stream (RST_STREAM)."""
        with suppress(h2.exceptions.ProtocolError):
            self.frames.reset_stream(stream_id, code)
            self.flush()
        self._forget(stream_id)

    def consumed(self, stream_id: int, length: int) -> None:
        """Note that the application took ``length`` bytes of a request: the client may send as many more."""
        if not length or self._ended or self.transport.is_closing():
            return
        self.frames.acknowledge_received_data(length, stream_id)
        self.flush()

    def _forget(self, stream_id: int) -> None:
        if stream := self._streams.pop(stream_id, None):
            self._connections.streams.discard(stream)
        if self._draining and not self._streams:
            self._say_goodbye()

    def _disconnect_streams(self) -> None:
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            self._connections.streams.discard(stream)
            stream.disconnect()
        self._wake_senders()

    def _wake_senders(self) -> None:
        waiting, self._window_changed = self._window_changed, set()
        for changed in waiting:
            if not changed.done():
                changed.set_result(None)

    # -- the end

    def _say_goodbye(self) -> None:
        """End the connection without an error."""
        self._end(ErrorCodes.NO_ERROR, "")

    def _end(self, code: ErrorCodes, why: str) -> None:
        """End the connection with a GOAWAY, and all its streams."""
        if self._ended:
            return
        with suppress(h2.exceptions.ProtocolError):
            self.frames.close_connection(code, additional_data=why.encode())
        self._leave()

    def _leave(self) -> None:
        """Write what h2 has ready, and close."""
        self._ended = True
        self._inflow.stop()
        self._disconnect_streams()
        if not self.transport.is_closing():
            close_with_answer(self.transport, self.frames.data_to_send(), lambda: self.connection_lost(None))

    def _scope(self, received: list[tuple[bytes, bytes]]) -> HttpScope:
        pseudo = {name: value for name, value in received if name.startswith(b":")}
        headers: Headers = [(bytes(n), bytes(v)) for n, v in received if not n.startswith(b":")]
        if b":authority" in pseudo and not any(name == b"host" for name, _ in headers):
            headers.insert(0, (b"host", bytes(pseudo[b":authority"])))
        raw_path, _, query = bytes(pseudo.get(b":path", b"/")).partition(b"?")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "2",
            "method": pseudo.get(b":method", b"GET").decode("latin-1"),
            "scheme": self._connections.scheme,
            "path": unquote(raw_path.decode("latin-1")),
            "raw_path": raw_path,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": self._client,
            "server": self._server,
        }


async def _refuse(status: HTTPStatus, why: str, _scope: HttpScope, _receive: Receive, send: Send) -> None:
    await answer(send, status, [(b"content-type", b"text/plain")], f"{why}\n".encode())
