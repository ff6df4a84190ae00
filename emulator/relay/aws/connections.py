"""HTTP/1.1 connections to an upstream. They stay open between requests, and bodies are streamed."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import cast
from urllib.parse import urlsplit

import httptools

from emulator.http.asgi import Headers

_HELD_BYTES = 1 << 20
_CONNECT_SECONDS = 5.0
_JOINED_WRITE_BYTES = 1 << 16
_LONGEST_IDLE = 64
# TCP alone would wait a quarter of an hour for a host that has left the network.
_UNANSWERED_MILLIS = 10_000
_USER_TIMEOUT: int | None = getattr(socket, "TCP_USER_TIMEOUT", None)


class UpstreamUnreachableError(Exception):
    """No connection to the upstream can be made, so the request has not reached it."""


class UpstreamLostError(Exception):
    """The connection ended before the answer, so the outcome of the request is unknown."""


class UpstreamConnections:
    """Connections to the host of one URL (``http`` or ``https``), opened when they are needed."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.url = url
        self.secure = parts.scheme == "https"
        self.host = parts.hostname or ""
        self.port = parts.port or (443 if self.secure else 80)
        default = (parts.port or self.port) == (443 if self.secure else 80)
        name = f"[{self.host}]" if ":" in self.host else self.host
        self.authority = name if default else f"{name}:{self.port}"
        self._tls = ssl.create_default_context() if self.secure else None
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()

    async def ask(
        self,
        method: str,
        target: bytes,
        headers: Headers,
        body: bytes = b"",
        rest: AsyncIterator[bytes] | None = None,
    ) -> UpstreamReply:
        """Send a request with ``body`` and then ``rest``, and return when the answer's head has come.

        ``headers`` must frame the body, with a content-length or ``transfer-encoding: chunked``.
        Raises UpstreamUnreachableError and UpstreamLostError.
        """
        connection = self._take_idle() or await self._connect()
        head = b"%b %b HTTP/1.1\r\n" % (method.encode(), target)
        head += b"".join(b"%b: %b\r\n" % header for header in headers) + b"\r\n"
        chunked = (b"transfer-encoding", b"chunked") in headers
        try:
            return await connection.exchange(head, body, rest, chunked=chunked, bodiless=method == "HEAD")
        except BaseException:
            connection.abandon()
            raise

    def close(self) -> None:
        for connection in tuple(self._open):
            connection.abandon()

    def _take_idle(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
        return None

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        making = loop.create_connection(
            lambda: _Connection(self._return, self._open.discard), self.host, self.port, ssl=self._tls
        )
        try:
            _, connection = await asyncio.wait_for(making, _CONNECT_SECONDS)
        except (OSError, TimeoutError) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise UpstreamUnreachableError(f"{self.url} does not answer: {why}") from error
        self._open.add(connection)
        return connection

    def _return(self, connection: _Connection) -> None:
        if len(self._idle) < _LONGEST_IDLE:
            self._idle.append(connection)
        else:
            connection.abandon()


class UpstreamReply:
    """An answer whose head has come. Its body can be read once, whole or in pieces."""

    def __init__(self, connection: _Connection, status: int, headers: Headers) -> None:
        self._connection = connection
        self.status = status
        self.headers = headers

    @property
    def complete(self) -> bool:
        """Whether the whole body has come."""
        return self._connection.ended

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the body as it comes. Raises UpstreamLostError when it ends too soon."""
        while piece := await self._connection.piece():
            yield piece

    async def whole(self) -> bytes:
        """Read the whole body. Raises UpstreamLostError when it ends too soon."""
        return b"".join([piece async for piece in self.pieces()])

    def abandon(self) -> None:
        """Close the connection without reading the rest."""
        self._connection.abandon()


class _Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, done: Callable[[_Connection], None], gone: Callable[[_Connection], None]) -> None:
        self._return = done
        self._remove = gone
        self._lost = False
        self.ended = False
        self._framed = False
        self._headers_complete = False
        self._writable: asyncio.Future[None] | None = None
        self._woken: asyncio.Future[None] | None = None
        self._begin(bodiless=False)

    # -- called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if _USER_TIMEOUT is not None:
            connected: socket.socket = transport.get_extra_info("socket")
            connected.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, _UNANSWERED_MILLIS)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._lost = True
        if self._headers_complete and not self.ended and not self._framed:
            self.ended = True
        self._remove(self)
        self.resume_writing()
        self._wake()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._transport.abort()
        if self._held > _HELD_BYTES:
            self._transport.pause_reading()
        self._wake()

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    # -- called by the parser

    def on_message_begin(self) -> None:
        self._headers: Headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self._framed |= name in (b"content-length", b"transfer-encoding")
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            return
        self._status = status
        self._headers_complete = True
        self._reusable = self._parser.should_keep_alive() and not self._bodiless
        if self._bodiless:
            self.ended = True

    def on_body(self, body: bytes) -> None:
        if not self._bodiless:
            self._pieces.append(body)
            self._held += len(body)

    def on_message_complete(self) -> None:
        if self._headers_complete:
            self.ended = True

    # -- called by Connections and Reply

    @property
    def usable(self) -> bool:
        return not self._lost and not self._transport.is_closing()

    async def exchange(
        self, head: bytes, body: bytes, rest: AsyncIterator[bytes] | None, *, chunked: bool, bodiless: bool
    ) -> UpstreamReply:
        self._begin(bodiless=bodiless)
        self._write(head, _chunk(body) if chunked and body else body)
        if rest is not None:
            async for piece in rest:
                if self._writable:
                    await asyncio.shield(self._writable)
                if self._lost or self._headers_complete:
                    # The upstream answered early, mostly with an error, so it does not read the rest.
                    self._reusable = False
                    break
                self._transport.write(_chunk(piece) if chunked else piece)
            if chunked:
                self._transport.write(b"0\r\n\r\n")
        while not self._headers_complete:
            await self._wait_for_more()
        return UpstreamReply(self, self._status, self._headers)

    async def piece(self) -> bytes:
        while not self._pieces:
            if self.ended:
                if self._reusable and self.usable:
                    self._transport.resume_reading()
                    self._return(self)
                else:
                    self.abandon()
                return b""
            self._transport.resume_reading()
            await self._wait_for_more()
        piece = b"".join(self._pieces) if len(self._pieces) > 1 else self._pieces[0]
        self._pieces.clear()
        self._held = 0
        return piece

    def abandon(self) -> None:
        self._reusable = False
        self._transport.abort()

    def _begin(self, *, bodiless: bool) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._bodiless = bodiless
        self.ended = False
        self._headers_complete = self._framed = False
        self._pieces: deque[bytes] = deque()
        self._held = 0
        self._reusable = True

    def _write(self, head: bytes, body: bytes) -> None:
        if len(body) < _JOINED_WRITE_BYTES:
            self._transport.write(head + body)
        else:
            self._transport.writelines((head, body))

    async def _wait_for_more(self) -> None:
        if self._lost:
            raise UpstreamLostError("the upstream closed the connection before its answer was complete")
        self._woken = asyncio.get_running_loop().create_future()
        await self._woken

    def _wake(self) -> None:
        if self._woken and not self._woken.done():
            self._woken.set_result(None)


def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)
