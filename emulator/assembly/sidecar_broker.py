"""RabbitMQ beside the emulator: the real server, when it is installed, started in the background."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.targets import TargetProcess
from emulator.machine.port_tls import PortTls
from emulator.rabbitmq.broker_process import (
    HOW_TO_GET_ONE,
    BrokerFailedError,
    explain_missing_server,
    find_server,
    start_broker,
)
from emulator.rabbitmq.broker_process import Broker as Server
from emulator.settings.settings import Settings
from emulator.streams.amqp_log import AmqpLog

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from emulator.relay.amqp.amqp_server import AmqpServer
    from emulator.relay.amqp.embedded_upstream import EmbeddedUpstream
    from emulator.relay.amqp.entry import Entry
    from emulator.relay.amqp.watching import Watch

TARGET = "rabbitmq"
_NOTHING = "nothing answers on the AMQP port"
_PIDS = "processes"
_CREDENTIALS = "amqp://guest:guest@localhost/%2F"


class Broker(ABC):
    """What answers on the AMQP port. ``url`` is None when nothing will answer.

    ``notes`` describe its state, and where nothing answers they say how to change that. Set before the start,
    ``watch`` makes a watcher for each connection, and ``tls`` is what clients must speak.
    """

    url: str | None = None
    notes: tuple[str, ...] = ()
    watch: Watch | None = None
    tls: PortTls | None = None

    def __init__(
        self, settings: Settings, clock: Clock, events: Events, fault_engine: FaultEngine, log: AmqpLog
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._events = events
        self._fault_engine = fault_engine
        self._log = log

    @property
    @abstractmethod
    def answers(self) -> bool: ...
    @abstractmethod
    def start(self, environment: Mapping[str, str], /) -> None: ...
    @abstractmethod
    async def stop(self) -> None: ...

    def _build_server(
        self,
        url: str,
        listening: socket.socket,
        *,
        entry: Entry | None = None,
        upstream: EmbeddedUpstream | None = None,
    ) -> AmqpServer:
        """Build the server of the port, with the broker at ``url`` behind it."""
        from emulator.relay.amqp.amqp_server import AmqpServer
        from emulator.relay.amqp.entry import Entry

        token = self._settings.token
        return AmqpServer(
            url,
            listening,
            fault_engine=self._fault_engine,
            clock=self._clock,
            events=self._events,
            log=self._log,
            entry=Entry.by_token(url, token) if token else entry,
            upstream=upstream,
            watch=self.watch,
            tls=self.tls,
        )


class SidecarBroker(Broker):
    """Starts the server in the background, behind a relay that applies the faults.

    ``url`` is the relay's URL, from before it answers. The faults ``pause`` and ``kill`` know it as
    ``rabbitmq``.
    """

    _starting: asyncio.Task[None] | None = None
    _broker: Server | None = None
    _relay: AmqpServer | None = None
    _directory: TemporaryDirectory[str] | None = None

    @property
    def answers(self) -> bool:
        """Whether the server is up."""
        return self._broker is not None

    def start(self, environment: Mapping[str, str]) -> None:
        """Start the server in the background, when it is installed and the port is free."""
        if self._settings.amqp == "none":
            self.notes = (f"{_NOTHING}: it was started with --amqp none",)
            return
        server = find_server(environment)
        if server is None:
            self.notes = (f"{_NOTHING}: {explain_missing_server(environment)}", *HOW_TO_GET_ONE)
            return
        from emulator.relay.amqp.listening import bind_socket, client_url

        directory = self._choose_directory()
        end_leftovers(directory)
        try:
            # Listening begins now, so that clients that connect before the server is up wait for it.
            listening = bind_socket(self._settings.host, self._settings.amqp_port)
        except OSError as error:
            self.notes = (f"RabbitMQ was not started: {error.strerror}",)
            return
        self.url = client_url(_CREDENTIALS, listening, self._settings.token, self.tls)
        self.notes = ("RabbitMQ is starting",)
        self._starting = asyncio.create_task(self._start(server, directory, environment, listening))

    async def stop(self) -> None:
        """Stop the server, and wait until it has ended."""
        if self._starting:
            await self._starting
        if self._relay:
            await self._relay.close()
        if self._broker:
            await asyncio.to_thread(self._broker.stop)
        if self._directory:
            self._directory.cleanup()

    async def _start(
        self, server: Path, directory: Path, environment: Mapping[str, str], listening: socket.socket
    ) -> None:
        try:
            broker = await asyncio.to_thread(start_broker, server, directory, environment)
        except (BrokerFailedError, OSError) as error:
            listening.close()
            self.url = None
            self.notes = (f"{_NOTHING}: rabbitmq-server did not start; sandbox logs shows what it said",)
            self._events.emit("broker.failed", why=str(error))
            return
        from emulator.relay.amqp.entry import Entry

        self._broker = broker
        self._relay = self._build_server(broker.url, listening, entry=Entry.by_usual_login(broker.url))
        await self._relay.listen()
        process_ids = f"{broker.pid} {broker.mapper.pid}"
        (directory / _PIDS).write_text(process_ids, encoding="ascii")
        self._fault_engine.add_target(TARGET, TargetProcess.of(broker.pid))
        self.notes = (f"RabbitMQ is the real server, process {broker.pid}",)
        self._events.emit("broker.started", url=self.url, pid=broker.pid)

    def _choose_directory(self) -> Path:
        if self._settings.data_dir is not None:
            return self._settings.data_dir.resolve() / "rabbitmq"
        from tempfile import TemporaryDirectory

        self._directory = TemporaryDirectory(prefix="sandbox-rabbitmq-")
        return Path(self._directory.name)


def end_leftovers(directory: Path) -> None:
    """Kill the server that a killed sandbox left on this directory, since two must not share it."""
    try:
        pids = [int(pid) for pid in (directory / _PIDS).read_text(encoding="ascii").split()]
    except (OSError, ValueError):
        return
    for pid in pids:
        with contextlib.suppress(OSError):
            # The pid may belong to another process by now. Ours has this directory as its HOME.
            if f"HOME={directory}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                os.kill(pid, signal.SIGKILL)
    (directory / _PIDS).unlink(missing_ok=True)
