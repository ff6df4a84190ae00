"""RabbitMQ beside the emulator: the real server where there is one, started while nobody waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from emulator.events import Events
from emulator.faults.stage import Stage
from emulator.faults.targets import Process
from emulator.rabbitmq import Broker as Server
from emulator.rabbitmq import BrokerFailed, find_server, start_broker
from emulator.settings import Settings

TARGET = "rabbitmq"
_PIDS = "processes"


class Broker(Protocol):
    """What answers on the AMQP port. ``url`` is None when nothing will; ``note`` says how it stands."""

    @property
    def url(self) -> str | None: ...
    @property
    def note(self) -> str: ...
    @property
    def answers(self) -> bool: ...
    def start(self, environment: Mapping[str, str], /) -> None: ...
    async def stop(self) -> None: ...


class SidecarBroker:
    """Starts the server in the background. ``url`` is where it will answer, None when it will not.

    ``note`` says in words how it stands. The faults ``pause`` and ``kill`` know it as ``rabbitmq``.
    """

    def __init__(self, settings: Settings, events: Events, stage: Stage) -> None:
        self._settings = settings
        self._events = events
        self._stage = stage
        self._starting: asyncio.Task[None] | None = None
        self._broker: Server | None = None
        self._directory: TemporaryDirectory[str] | None = None
        self.url: str | None = None
        self.note = ""

    @property
    def answers(self) -> bool:
        """Whether the server is up."""
        return self._broker is not None

    def start(self, environment: Mapping[str, str]) -> None:
        """Begin to start it, where there is a server and its port is free."""
        server = find_server(environment) if self._settings.amqp == "auto" else None
        if server is None:
            off = self._settings.amqp == "off"
            why = "--amqp off" if off else "no rabbitmq-server is installed"
            self.note = f"the memory channel answers for RabbitMQ: {why}"
            return
        directory = self._place()
        end_leftovers(directory)
        port = _free(self._settings.host, self._settings.amqp_port)
        if port is None:
            self.note = (
                f"the memory channel answers for RabbitMQ: port {self._settings.amqp_port} is in use; "
                "--amqp-port 0 picks a free one"
            )
            return
        self.url = f"amqp://guest:guest@{self._settings.host}:{port}/%2F"
        self.note = "RabbitMQ is starting"
        self._starting = asyncio.create_task(self._start(server, directory, environment, port))

    async def stop(self) -> None:
        """Stop it and wait until it is gone."""
        if self._starting:
            await self._starting
        if self._broker:
            await asyncio.to_thread(self._broker.stop)
        if self._directory:
            self._directory.cleanup()

    async def _start(self, server: Path, directory: Path, environment: Mapping[str, str], port: int) -> None:
        host = self._settings.host
        try:
            broker = await asyncio.to_thread(
                start_broker, server, directory, environment, host=host, port=port
            )
        except (BrokerFailed, OSError) as error:
            self.url = None
            self.note = (
                "the memory channel answers for RabbitMQ: the server did not start, see event broker.failed"
            )
            self._events.emit("broker.failed", why=str(error))
            return
        self._broker = broker
        _note_processes(directory, broker)
        self._stage.targets[TARGET] = Process(broker.pid)
        self.note = f"RabbitMQ is the real server, process {broker.pid}"
        self._events.emit("broker.started", url=broker.url, pid=broker.pid)

    def _place(self) -> Path:
        if self._settings.data_dir is not None:
            return self._settings.data_dir.resolve() / "rabbitmq"
        self._directory = TemporaryDirectory(prefix="sandbox-rabbitmq-")
        return Path(self._directory.name)


def end_leftovers(directory: Path) -> None:
    """End the server that a killed sandbox left on this directory: two must not share it."""
    try:
        pids = [int(pid) for pid in (directory / _PIDS).read_text(encoding="ascii").split()]
    except (OSError, ValueError):
        return
    for pid in pids:
        with contextlib.suppress(OSError):
            # A pid may be another process's by now; ours has this directory as its home.
            if f"HOME={directory}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                os.kill(pid, signal.SIGKILL)
    (directory / _PIDS).unlink(missing_ok=True)


def _note_processes(directory: Path, broker: Server) -> None:
    (directory / _PIDS).write_text(f"{broker.pid} {broker.mapper.pid}", encoding="ascii")


def _free(host: str, port: int) -> int | None:
    """The port, or any free one for 0; None when it is taken."""
    try:
        with socket.create_server((host, port)) as listening:
            found: int = listening.getsockname()[1]
            return found
    except OSError:
        return None
