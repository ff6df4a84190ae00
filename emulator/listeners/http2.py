"""HTTP/2 (RFC 9113) on one connection, each stream a request handed to an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast
from urllib.parse import unquote

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from emulator.listeners.asgi import Headers, HttpScope, Message
from emulator.listeners.connections import Connections

_STREAM_WINDOW = 1 << 22
_CONNECTION_WINDOW = 1 << 26
_MAX_FRAME = 1 << 18
_MAX_STREAMS = 1000
_HOP_BY_HOP = frozenset((b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"proxy-connection"))


class Http2Protocol(asyncio.Protocol):
    """Many streams on one connection, with flow control in both directions."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        config = h2.config.H2Configuration(client_side=False, header_encoding=None)
        self.frames = h2.connection.H2Connection(config)
        self._streams: dict[int, _Stream] = {}
        self._draining = False
        self._transport_full = False
        self._window_changed: set[asyncio.Future[None]] = set()
        self._handlers: dict[type, Callable[[Any], None]] = {
            h2.events.RequestReceived: self._on_request,
            h2.events.DataReceived: self._on_data,
            h2.events.StreamEnded: self._on_stream_ended,
            h2.events.StreamReset: self._on_reset,
            h2.events.WindowUpdated: self._on_window,
            h2.events.RemoteSettingsChanged: self._on_window,
            h2.events.ConnectionTerminated: self._on_terminated,
        }

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._client = transport.get_extra_info("peername")
        self._server = transport.get_extra_info("sockname")
        self._connections.opened(self)
        self.frames.initiate_connection()
        self.frames.update_settings(
            {
                h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: _STREAM_WINDOW,
                h2.settings.SettingCodes.MAX_FRAME_SIZE: _MAX_FRAME,
                h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: _MAX_STREAMS,
            }
        )
        self.frames.increment_flow_control_window(_CONNECTION_WINDOW)
        # h2 looks the bound up once a chunk: a long frame in the chunk that acknowledges it would be refused.
        self.frames.max_inbound_frame_size = _MAX_FRAME
        self.flush()

    def connection_lost(self, _exc: Exception | None) -> None:
        self._connections.closed(self)
        for stream in tuple(self._streams.values()):
            stream.disconnect()
        self._streams.clear()
        self._wake_senders()

    def data_received(self, data: bytes) -> None:
        try:
            events = self.frames.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.flush()
            self.transport.close()
            return
        for event in events:
            handle = self._handlers.get(type(event))
            if handle:
                handle(event)
        self.flush()

    def pause_writing(self) -> None:
        self._transport_full = True

    def resume_writing(self) -> None:
        self._transport_full = False
        self._wake_senders()

    def drain(self) -> None:
        self._draining = True
        if not self._streams:
            self._say_goodbye()

    def abort(self) -> None:
        self.transport.abort()

    def flush(self) -> None:
        """Write what the frame machine has ready."""
        if data := self.frames.data_to_send():
            self.transport.write(data)

    async def room(self, stream_id: int) -> int:
        """Wait until something may be sent on the stream; how many bytes, 0 when it is gone."""
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
        """The stream's response is complete."""
        self._streams.pop(stream_id, None)
        if not body_read:
            self.reset(stream_id, h2.errors.ErrorCodes.NO_ERROR)
        if self._draining and not self._streams:
            self._say_goodbye()

    def reset(self, stream_id: int, code: h2.errors.ErrorCodes) -> None:
        """Cut one stream (RST_STREAM)."""
        self._streams.pop(stream_id, None)
        try:
            self.frames.reset_stream(stream_id, code)
        except h2.exceptions.ProtocolError:
            return
        self.flush()

    def consumed(self, stream_id: int, length: int) -> None:
        """The application took ``length`` bytes of a request: let the client send as many more."""
        if not length or self.transport.is_closing():
            return
        self.frames.acknowledge_received_data(length, stream_id)
        self.flush()

    def _say_goodbye(self) -> None:
        with suppress(h2.exceptions.ProtocolError):
            self.frames.close_connection()
        self.flush()
        self.transport.close()

    def _wake_senders(self) -> None:
        waiting, self._window_changed = self._window_changed, set()
        for changed in waiting:
            if not changed.done():
                changed.set_result(None)

    def _on_request(self, event: h2.events.RequestReceived) -> None:
        assert event.stream_id is not None
        stream = _Stream(self, event.stream_id, self._scope(event.headers or []))
        if self._draining:
            self.reset(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
            return
        self._streams[event.stream_id] = stream
        self._connections.start(stream)

    def _on_data(self, event: h2.events.DataReceived) -> None:
        assert event.stream_id is not None
        stream = self._streams.get(event.stream_id)
        length = event.flow_controlled_length or 0
        if stream is None:
            self.consumed(event.stream_id, length)
        else:
            stream.arrived(event.data or b"", length)

    def _on_stream_ended(self, event: h2.events.StreamEnded) -> None:
        if stream := self._streams.get(event.stream_id or 0):
            stream.completed()

    def _on_reset(self, event: h2.events.StreamReset) -> None:
        if stream := self._streams.pop(event.stream_id or 0, None):
            stream.disconnect()
        self._wake_senders()

    def _on_window(self, _event: h2.events.Event) -> None:
        self._wake_senders()

    def _on_terminated(self, _event: h2.events.ConnectionTerminated) -> None:
        self.drain()

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
            "scheme": "http",
            "path": unquote(raw_path.decode("latin-1")),
            "raw_path": raw_path,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": self._client,
            "server": self._server,
        }


class _Stream:
    """One request and its response."""

    def __init__(self, protocol: Http2Protocol, stream_id: int, scope: HttpScope) -> None:
        self._protocol = protocol
        self._id = stream_id
        self.scope = scope
        self._pieces: list[bytes] = []
        self._unacknowledged = 0
        self._more_body = True
        self._body_given = False
        self._disconnected = False
        self._changed: asyncio.Future[None] | None = None
        self._head_sent = False
        self.done = False

    def arrived(self, piece: bytes, flow_controlled_length: int) -> None:
        self._pieces.append(piece)
        self._unacknowledged += flow_controlled_length
        self._wake()

    def completed(self) -> None:
        self._more_body = False
        self._wake()

    def disconnect(self) -> None:
        self._disconnected = True
        self._wake()

    def abort(self) -> None:
        self._protocol.abort()

    async def receive(self) -> Message:
        while not (self._pieces or self._disconnected or self.done):
            if not self._more_body and not self._body_given:
                break
            self._changed = asyncio.get_running_loop().create_future()
            await self._changed
        if self._disconnected or self.done:
            return {"type": "http.disconnect"}
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._protocol.consumed(self._id, self._unacknowledged)
        self._unacknowledged = 0
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
        await self._send_data(memoryview(body), end=not more)
        if not more and not self._disconnected:
            self._finish()

    def _send_head(self, message: Message) -> None:
        headers: list[tuple[bytes, bytes]] = [(b":status", b"%d" % message["status"])]
        for name, value in message.get("headers", ()):
            if name.lower() not in _HOP_BY_HOP:
                headers.append((name.lower(), value))
        self._protocol.frames.send_headers(self._id, headers)
        self._head_sent = True

    async def _send_data(self, body: memoryview, *, end: bool) -> None:
        frames = self._protocol.frames
        while len(body):
            room = await self._protocol.room(self._id)
            if not room:
                return
            last = len(body) <= room
            frames.send_data(self._id, bytes(body[:room]), end_stream=end and last)
            self._protocol.flush()
            body = body[room:]
            if last:
                return
        if end:
            frames.end_stream(self._id)
        self._protocol.flush()

    def _finish(self) -> None:
        self.done = True
        self._wake()
        if self._unacknowledged:
            self._protocol.consumed(self._id, self._unacknowledged)
        self._protocol.ended(self._id, body_read=not self._more_body)

    async def fail(self) -> None:
        if self._disconnected:
            return
        if self._head_sent:
            self._protocol.reset(self._id, h2.errors.ErrorCodes.INTERNAL_ERROR)
            return
        await self.send(
            {"type": "http.response.start", "status": 500, "headers": [(b"content-type", b"text/plain")]}
        )
        await self.send({"type": "http.response.body", "body": b"Internal Server Error\n"})

    def _wake(self) -> None:
        if self._changed and not self._changed.done():
            self._changed.set_result(None)
