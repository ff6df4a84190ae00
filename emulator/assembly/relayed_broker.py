"""The AMQP port of a relay: the upstream broker with the fault engine in front of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit

from emulator.assembly.sidecar_broker import Broker
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.relay.amqp.listening import bind_socket
from emulator.settings.settings import Settings
from emulator.streams.amqp_log import AmqpLog


class RelayedBroker(Broker):
    """Listens on ``amqp_port`` in front of the broker that ``upstream_amqp`` names.

    ``url`` is for clients: the upstream's URL with the address of this port. ``start`` raises OSError when
    the port is taken.
    """

    answers = True

    def __init__(
        self, settings: Settings, clock: Clock, events: Events, fault_engine: FaultEngine, log: AmqpLog
    ) -> None:
        super().__init__(settings, clock, events, fault_engine, log)
        assert settings.upstream_amqp is not None
        self._upstream: str = settings.upstream_amqp
        self.notes = (f"relaying AMQP to {urlsplit(self._upstream).netloc.rpartition('@')[2]}",)

    def start(self, _environment: Mapping[str, str]) -> None:
        """Begin to listen."""
        listening = bind_socket(self._settings.host, self._settings.amqp_port)
        self._server = self._build_server(self._upstream, listening)
        self.url = self._server.url
        self._listening = asyncio.ensure_future(self._server.listen())

    async def stop(self) -> None:
        """Accept no more connections, and close the open ones."""
        if self.url is not None:
            await self._listening
            await self._server.close()
