"""The port of an ASGI application: HTTP/1.1, HTTP/2 with prior knowledge (RFC 9113 section 3.3), WebSocket.

With TLS, HTTP/2 is offered by ALPN; what comes after the handshake is the same.

    socket -> _Sniffer -> Http1Protocol -> Exchange (one request) --+-> Connections.start -> app
                 |            |  |  ^                               |
                 |            |  |  +-- BodyReader: takes the transport for a long body,
                 |            |  |      fills one buffer, and hands transport and body back
                 |            |  +-> WebSocketProtocol: keeps the transport -+
                 +-> Http2Protocol -> Stream (one request) -----------------+

The first bytes of a connection tell its protocol. Each protocol passes what it reads through an ``Inflow``,
so that connections take turns, and starts requests through ``Connections``, which bounds how many run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias, cast

from emulator.clock import Clock
from emulator.http.asgi import App
from emulator.http.bounds.client_limits import USUAL, Limits
from emulator.http.bounds.port_connections import Connections, FailureHandler
from emulator.http.bounds.timeouts import Awaited, Waiting
from emulator.http.http1.http1_protocol import Http1Protocol
from emulator.machine.port_tls import PortTls
from emulator.machine.ports import explain_bind_error

Front: TypeAlias = Callable[[Callable[[], asyncio.Protocol]], asyncio.Protocol]
"""Makes what sees a connection first, from what makes the port's own protocol, to which it may hand over."""
_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Server:
    """A listening port. ``port`` is the number in use, ``url`` is how a client reaches it."""

    def __init__(
        self, listening: asyncio.Server, connections: Connections, host: str, tls: PortTls | None
    ) -> None:
        self._listening = listening
        self._connections = connections
        self.host = host
        self._tls = tls
        self.port: int = listening.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        if self._tls is not None:
            return f"https://{self._tls.host}:{self.port}"
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)  # noqa: S104 -- compared with, not bound
        return f"http://{host}:{self.port}"

    async def close(self, grace: float = 1.0) -> None:
        """Stop accepting, give running requests ``grace`` seconds to end, then abort the rest."""
        self._listening.close()
        await self._connections.close(grace)
        await self._listening.wait_closed()


async def serve(
    app: App,
    host: str,
    port: int,
    *,
    on_failure: FailureHandler | None = None,
    clock: Clock | None = None,
    limits: Limits = USUAL,
    sockets: bool = False,
    tls: PortTls | None = None,
    front: Front | None = None,
) -> Server:
    """Listen on ``host:port`` (0 picks a free port) and run ``app`` for every request.

    ``on_failure`` gets the exceptions that ``app`` raises; the client gets a bare 500. With ``sockets``, the
    app is run for every WebSocket too; other offers to upgrade are ignored. Answers are dated by ``clock``,
    by default the machine's. With ``tls``, clients must speak that. ``front`` sees each connection first.
    Raises OSError when the port cannot be taken; the message says what to do.
    """
    scheme = "http" if tls is None else "https"
    connections = Connections(app, on_failure, clock=clock, limits=limits, sockets=sockets, scheme=scheme)
    loop = asyncio.get_running_loop()

    def build_port() -> asyncio.Protocol:
        return _Sniffer(connections)

    try:
        listening = await loop.create_server(
            build_port if front is None else lambda: front(build_port),
            host,
            port,
            backlog=512,
            ssl=tls.http if tls else None,
            ssl_handshake_timeout=limits.head_seconds if tls else None,
        )
    except OSError as error:
        another = " or choose another (0 picks a free one)"
        raise explain_bind_error(error, host, port, another) from error
    return Server(listening, connections, host, tls)


class _Sniffer(asyncio.Protocol):
    """Reads a connection until its protocol is certain, then hands over the transport and the bytes read."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._connections.admits(self._transport):
            self._connections.opened(self)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._connections.closed(self)

    def data_received(self, data: bytes) -> None:
        self._read += data
        if len(self._read) < len(_HTTP2_PREFACE) and _HTTP2_PREFACE.startswith(self._read):
            return
        self._connections.closed(self)
        protocol: asyncio.Protocol
        if self._read.startswith(_HTTP2_PREFACE):
            # Imported for the first client that needs it: h2 would slow down every start.
            from emulator.http.http2.http2_protocol import Http2Protocol

            protocol = Http2Protocol(self._connections)
        else:
            protocol = Http1Protocol(self._connections)
        # ``set_protocol`` does not call the new protocol, so what it missed is passed on here.
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        protocol.data_received(self._read)

    def waiting(self) -> Waiting:
        return Waiting(Awaited.HEAD, 0)

    def give_up(self, _waiting: Waiting) -> None:
        self._transport.abort()

    def drain(self) -> None:
        self._transport.abort()

    def abort(self) -> None:
        self._transport.abort()
