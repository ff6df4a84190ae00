"""The AMQP port of a relay: what a client says goes on to the upstream broker, what that says comes back."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from emulator.events import Events
from emulator.settings import Settings

_PIECE_BYTES = 1 << 16
_PORTS = {"amqp": 5672, "amqps": 5671}


class RelayedBroker:
    """Listens on ``amqp_port`` in front of the broker that ``upstream_amqp`` names.

    ``url`` is for clients: the upstream's, with this port's address. ``note``
    says in words how it stands. ``start`` raises OSError when the port is taken.
    """

    answers = True

    def __init__(self, settings: Settings, events: Events) -> None:
        assert settings.upstream_amqp is not None
        self._settings = settings
        self._events = events
        self._upstream = urlsplit(settings.upstream_amqp)
        self._where = f"{self._upstream.hostname}:{self._upstream.port or _PORTS[self._upstream.scheme]}"
        self._connections: set[asyncio.Task[None]] = set()
        self.url: str | None = None
        self.note = f"relaying AMQP to {self._where}"

    def start(self, _environment: Mapping[str, str]) -> None:
        """Listen from now on."""
        host, port = self._settings.host, self._settings.amqp_port
        try:
            listening = socket.create_server((host, port))
        except OSError as error:
            why = f"port {port} on {host} cannot be had: {error.strerror}; --amqp-port 0 picks a free one"
            raise OSError(error.errno, why) from error
        self.url = self._url(listening.getsockname()[1])
        self._serving = asyncio.ensure_future(asyncio.start_server(self._accept, sock=listening))

    async def stop(self) -> None:
        """Take no more connections and cut those there are."""
        server = await self._serving
        server.close()
        for connection in tuple(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _url(self, port: int) -> str:
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self._settings.host, self._settings.host)  # noqa: S104 -- compared with
        credentials, at, _ = self._upstream.netloc.rpartition("@")
        return urlunsplit(("amqp", f"{credentials}{at}{host}:{port}", self._upstream.path, "", ""))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._relay(reader, writer)
        except OSError as error:
            self._events.emit("relay.broker.unreachable", upstream=self._where, why=str(error))
        finally:
            self._connections.discard(task)
            writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tls = ssl.create_default_context() if self._upstream.scheme == "amqps" else None
        port = self._upstream.port or _PORTS[self._upstream.scheme]
        up_reader, up_writer = await asyncio.open_connection(self._upstream.hostname, port, ssl=tls)
        ways = [
            asyncio.ensure_future(_pass_on(reader, up_writer)),
            asyncio.ensure_future(_pass_on(up_reader, writer)),
        ]
        try:
            # Either side that ends ends both: half an AMQP connection is of no use.
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            up_writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
