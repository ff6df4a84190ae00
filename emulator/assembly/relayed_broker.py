"""The AMQP port of a relay: the upstream broker with the fault engine in front of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit

from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.engine import FaultEngine
from emulator.relay.amqp.amqp_server import AmqpServer
from emulator.relay.amqp.entry import Entry
from emulator.relay.amqp.listening import bind_socket
from emulator.settings.settings import Settings
from emulator.streams.amqp_log import AmqpLog


class RelayedBroker:
    """Listens on ``amqp_port`` in front of the broker that ``upstream_amqp`` names.

    ``url`` is for clients: the upstream's URL with the address of this port. ``notes``
    describe its state in words. ``start`` raises OSError when the port is taken.
    """

    answers = True

    def __init__(
        self, settings: Settings, clock: Clock, events: Events, fault_engine: FaultEngine, log: AmqpLog
    ) -> None:
        assert settings.upstream_amqp is not None
        self._settings = settings
        self._clock = clock
        self._events = events
        self._fault_engine = fault_engine
        self._log = log
        self._upstream: str = settings.upstream_amqp
        self.url: str | None = None
        self.notes = (f"relaying AMQP to {urlsplit(self._upstream).netloc.rpartition('@')[2]}",)

    def start(self, _environment: Mapping[str, str]) -> None:
        """Begin to listen."""
        listening = bind_socket(self._settings.host, self._settings.amqp_port)
        self._server = AmqpServer(
            self._upstream,
            listening,
            fault_engine=self._fault_engine,
            clock=self._clock,
            events=self._events,
            log=self._log,
            entry=Entry.by_token(self._upstream, self._settings.token) if self._settings.token else None,
        )
        self.url = self._server.url
        self._listening = asyncio.ensure_future(self._server.listen())

    async def stop(self) -> None:
        """Accept no more connections, and close the open ones."""
        if self.url is not None:
            await self._listening
            await self._server.close()
