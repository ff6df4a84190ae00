"""The AMQP port: every connection to it is relayed to one broker."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, Self, cast
from urllib.parse import urlsplit

from emulator.amqp.message_headers import write_text
from emulator.amqp.wire.commands import CommandReader
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.http.bounds.client_limits import USUAL
from emulator.http.bounds.turns import Turns
from emulator.machine.port_tls import PortTls
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.ends import End, Owner, Peer
from emulator.relay.amqp.entry import Entry
from emulator.relay.amqp.listening import bind_socket, client_url
from emulator.relay.amqp.relayed_connection import Session
from emulator.relay.amqp.watching import Watch
from emulator.streams.amqp_log import AmqpLog
from schemas.bound import CONTRACT

_PORTS: Final = {"amqp": 5672, "amqps": 5671}


class Upstream(Protocol):
    """A broker that a relay can connect to. Its text names it in events."""

    def build_end(self, owner: Owner, client: Peer, turns: Turns, /, **writing: Callable[[], None]) -> End:
        """Build the end of a client's connection that is the broker."""


class RemoteUpstream(NamedTuple):
    """The address of the broker."""

    host: str
    port: int
    encrypted: bool

    @classmethod
    def of(cls, url: str) -> Self:
        """Parse an ``amqp://`` or ``amqps://`` URL. Raises ValueError for another."""
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError(
                f"{parts.scheme}://...: give an AMQP URL, such as amqp://guest:guest@localhost:5672/"
            )
        return cls(parts.hostname, parts.port or _PORTS[parts.scheme], parts.scheme == "amqps")

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def build_end(self, owner: Owner, client: Peer, turns: Turns, /, **writing: Callable[[], None]) -> End:
        end = _RemoteBroker(self, owner, turns, CommandReader(), **writing)
        end.other = client
        return end


class _RemoteBroker(Peer):
    """The peer that is a broker at another address."""

    def __init__(
        self,
        address: RemoteUpstream,
        owner: Owner,
        turns: Turns,
        reader: CommandReader,
        **writing: Callable[[], None],
    ) -> None:
        super().__init__(owner, turns, reader, **writing)
        self._address = address

    async def connect(self) -> None:
        host, port, encrypted = self._address
        context = ssl.create_default_context() if encrypted else None
        await asyncio.get_running_loop().create_connection(lambda: self, host, port, ssl=context)


class AmqpServer:
    """A listening AMQP port. ``url`` is for clients, with the upstream's credentials and virtual host.

    Where there is an ``entry``, clients have its password instead. Without an ``upstream`` it is the broker
    at the URL. ``watch`` makes a watcher for each connection. With ``tls``, clients must speak that.
    """

    def __init__(
        self,
        upstream_url: str,
        listening: socket.socket,
        *,
        fault_engine: FaultEngine,
        clock: Clock,
        events: Events,
        log: AmqpLog,
        entry: Entry | None = None,
        upstream: Upstream | None = None,
        watch: Watch | None = None,
        tls: PortTls | None = None,
    ) -> None:
        self._upstream = upstream or RemoteUpstream.of(upstream_url)
        self._entry = entry
        self._watch = watch
        self._listening = listening
        self.port: int = listening.getsockname()[1]
        self.url = client_url(upstream_url, listening, entry.client_password if entry else None, tls)
        self._tls = tls
        self._fault_engine = fault_engine
        self._clock = clock
        self._events = events
        self._tap = Tap(events, log)
        self._turns = Turns()
        self._sessions: set[Session] = set()
        self._connecting: set[asyncio.Task[None]] = set()

    async def listen(self) -> None:
        """Start accepting connections."""
        self._serving = await asyncio.get_running_loop().create_server(
            lambda: _Arrival(self._accept),
            sock=self._listening,
            ssl=self._tls.amqp if self._tls else None,
            ssl_handshake_timeout=USUAL.head_seconds if self._tls else None,
        )

    def note_publish(self, channel: str, routing_key: str, body: bytes, properties: bytes) -> None:
        """Record a message that was published to the broker by another way than this port."""
        self._tap.record_text(channel, routing_key, write_text(CONTRACT, body, properties))
        self._tap.write_records()

    async def close(self) -> None:
        """Stop accepting connections, and cut the open ones."""
        self._serving.close()
        for task in self._connecting:
            task.cancel()
        for session in tuple(self._sessions):
            session.drop()
        self._tap.flush()
        # The transports need one turn of the loop to call connection_lost.
        await asyncio.sleep(0)
        await self._serving.wait_closed()

    def _accept(self) -> asyncio.Protocol | None:
        """Begin a session, and return its client's end; None above the limit."""
        if len(self._sessions) >= USUAL.connections:
            return None
        session = Session(
            self._fault_engine,
            self._clock,
            self._events,
            self._tap,
            self._sessions.discard,
            build_broker=self._upstream.build_end,
            turns=self._turns,
            entry=self._entry,
            watch=self._watch,
        )
        self._sessions.add(session)
        task = asyncio.get_running_loop().create_task(self._connect(session))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)
        return session.client

    async def _connect(self, session: Session) -> None:
        try:
            await session.connect()
        except OSError as error:
            self._events.emit("relay.amqp.unreachable", upstream=str(self._upstream), why=str(error))
            session.drop()


class _Arrival(asyncio.Protocol):
    """A connection until it is made, with TLS until after its handshake: one that never is has no session.

    Above the limit it is closed; AMQP has no error message before its own handshake.
    """

    def __init__(self, accept: Callable[[], asyncio.Protocol | None]) -> None:
        self._accept = accept

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        client = self._accept()
        if client is None:
            transport.close()
            return
        cast("asyncio.Transport", transport).set_protocol(client)
        client.connection_made(transport)


async def serve_amqp(
    upstream_url: str,
    host: str,
    port: int,
    *,
    fault_engine: FaultEngine,
    clock: Clock,
    events: Events,
    log: AmqpLog,
) -> AmqpServer:
    """Listen on ``host:port`` (0 picks a free port) and relay to the broker at ``upstream_url``.

    Published messages are recorded in ``log``. If the broker cannot be reached, the client's connection is
    closed and the event ``relay.amqp.unreachable`` is emitted. Raises ValueError for a URL that is not valid,
    OSError for a port that cannot be bound.
    """
    RemoteUpstream.of(upstream_url)
    server = AmqpServer(
        upstream_url, bind_socket(host, port), fault_engine=fault_engine, clock=clock, events=events, log=log
    )
    await server.listen()
    return server
