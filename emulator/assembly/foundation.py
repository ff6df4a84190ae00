"""What everything in a sandbox is built on: its settings, its clock, its events and its data directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from emulator.assembly.data_directory import DataDirectory
from emulator.assembly.own_certificate import open_tls
from emulator.clock import Clock
from emulator.destinations import Destinations
from emulator.events import Events
from emulator.journal.log import Log
from emulator.kinesis import Scope
from emulator.listeners.aws.credentials import DEFAULT_ACCOUNT
from emulator.machine.port_tls import PortTls
from emulator.settings.settings import Settings
from schemas.contract import Contract

_BROKER_PORTS: Final = (5671, 5672, 15671, 15672)
"""The usual ports of a RabbitMQ server, with its management."""


@dataclass(frozen=True, slots=True)
class Foundation:
    """``home`` is the account and region of the sandbox's own streams.

    ``directory`` and ``log``, that of the events, are None where nothing outlasts the process. ``tls`` is
    that of the ports, None where they speak without.
    """

    settings: Settings
    contract: Contract
    clock: Clock
    home: Scope
    directory: DataDirectory | None
    events: Events
    log: Log | None
    destinations: Destinations
    tls: PortTls | None

    @property
    def trust(self) -> Path | None:
        """The authority that clients of the ports have to be told to trust; None where there is none."""
        return self.tls.trust if self.tls else None


@contextmanager
def open_foundation(settings: Settings, clock: Clock, contract: Contract) -> Iterator[Foundation]:
    """Open the data directory and the events in it.

    Raises ``DirectoryInUseError``, ``DamagedLogError``, ``OtherFormatError``, ``TlsFilesError`` and OSError.
    """
    with ExitStack() as stack:
        directory, log = None, None
        if settings.data_dir is not None:
            directory = DataDirectory(settings.data_dir, fsync=settings.fsync)
            stack.callback(directory.close)
            log = directory.events()
            stack.callback(log.close)
        yield Foundation(
            settings=settings,
            contract=contract,
            clock=clock,
            home=Scope(DEFAULT_ACCOUNT, settings.region),
            directory=directory,
            events=Events(clock, log),
            log=log,
            destinations=_build_destinations(settings),
            tls=open_tls(settings, stack),
        )


def _build_destinations(settings: Settings) -> Destinations:
    """The rule of what may be called: no upstream. The sandbox's own ports are added as they open."""
    destinations = Destinations()
    for url, ports in ((settings.upstream_aws, ()), (settings.upstream_amqp, _BROKER_PORTS)):
        parts = urlsplit(url or "")
        if parts.hostname:
            for port in {parts.port, *ports} - {None}:
                destinations.add_upstream(parts.hostname, port)
    return destinations
