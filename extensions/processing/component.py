"""Asynchronous processing in a running sandbox: it begins with a message, or where some are stored."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from emulator.assembly.component import Component, Saved
from emulator.machine.private_files import touch
from extensions.processing.control import ProcessingResources
from extensions.processing.settings import ProcessingSettings

if TYPE_CHECKING:
    # Slow to import, and only needed once there is a message.
    from emulator.assembly.components import Components
    from extensions.processing.integration import Integration
    from extensions.processing.message_administration import Administration
    from extensions.processing.processing import Processing
    from extensions.processing.simulated_systems import SimulatedSystems
    from extensions.processing.sources import Sources

_STORE: Final = "processing.sqlite3"
_SECTION: Final = "processing"
_encode = msgspec.json.Encoder().encode
_decode_scripts = msgspec.json.Decoder(dict[str, tuple[str, ...]]).decode


class BegunProcessing(NamedTuple):
    """Processing that has begun."""

    processing: Processing
    outside: SimulatedSystems
    administration: Administration
    sources: Sources

    def close(self) -> None:
        """Stop processing, wait for its workers, and close the connections to source systems."""
        self.processing.close()
        self.sources.close()


class ProcessingComponent(Component):
    """Processing by the file of the settings, by default the integration ``DEFAULT``."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._integration = _read_integration(components.settings.of(ProcessingSettings).integration)
        self._running: BegunProcessing | None = None
        self._lock = threading.Lock()
        self._folder: TemporaryDirectory[str] | None = None
        self._loaded: Sequence[bytes | memoryview] = ()

    def resources(self) -> Sequence[object]:
        return [ProcessingResources(self, self._components.clock)]

    def start(self) -> None:
        """Check what the integration may call, and go on with stored messages. Raises ``CannotRunError``."""
        if self._integration is not None:
            from extensions.processing.sources import check_confirmations

            check_confirmations(self._integration, self._components)
        if self._components.settings.data_dir is not None and self._path().exists():
            self.ensure_running()

    def close(self) -> None:
        """Stop processing; the next sandbox on this data directory continues the open messages."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.close()
        if self._folder is not None:
            self._folder.cleanup()

    def reset(self) -> None:
        """Delete every message, call and script. Workers finish their current call without events.

        Another process that has the store open keeps its contents, in a file that is unlinked.
        """
        with self._lock:
            running, self._running = self._running, None
            if running is None and self._components.settings.data_dir is None:
                return
            if running is not None:
                running.processing.abandon()
            path = self._path()
            for file in (path, path.with_name(f"{_STORE}-wal"), path.with_name(f"{_STORE}-shm")):
                file.unlink(missing_ok=True)
        if running is not None:
            # A worker may be waiting for an outside system; the reset must not wait with it.
            threading.Thread(target=running.close, name="abandoned", daemon=True).start()

    def save(self) -> Mapping[str, Sequence[bytes]]:
        with self._lock:
            running = self._running
            if running is None and not (self._components.settings.data_dir and self._path().exists()):
                return {_SECTION: []}
            scripts = {} if running is None else _read_scripts(running.outside)
            with closing(sqlite3.connect(self._path(), isolation_level=None)) as connection:
                return {_SECTION: [_encode(scripts), connection.serialize()]}

    def load(self, saved: Saved, number: int) -> None:
        del number
        self.reset()
        self._loaded = saved.get(_SECTION, ())

    def resume(self) -> None:
        """Go on with the messages, calls and scripts that were loaded."""
        saved, self._loaded = self._loaded, ()
        if not saved:
            return
        with self._lock:
            touch(self._path()).write_bytes(saved[1])
        outside = self.ensure_running().outside
        for name, answers in _decode_scripts(saved[0]).items():
            if name in outside.systems:
                outside.systems[name].script(answers)

    def ensure_running(self) -> BegunProcessing:
        """Begin, if that has not been done, and return what there is then."""
        from extensions.processing.integration import DEFAULT, build_routes, build_systems
        from extensions.processing.message_administration import Administration
        from extensions.processing.processing import Processing
        from extensions.processing.sources import Sources

        with self._lock:
            if self._running is None:
                components, integration = self._components, self._integration or DEFAULT
                outside = build_systems(integration, components.clock, components.fault_engine)
                sources = Sources(integration, components)
                processing = Processing(
                    self._path(),
                    build_routes(integration),
                    outside,
                    components.clock,
                    components.events,
                    parameters=integration.parameters,
                    confirm=sources,
                    policies=sources.policies,
                    fsync=components.settings.fsync,
                )
                processing.start()
                self._running = BegunProcessing(processing, outside, Administration(processing), sources)
            return self._running

    def _path(self) -> Path:
        if self._components.settings.data_dir is not None:
            return self._components.settings.data_dir / _STORE
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="sandbox-processing-")
        return Path(self._folder.name) / _STORE


def _read_integration(path: Path | None) -> Integration | None:
    """Read the integration file; return None where none is given. Raises IntegrationError."""
    if path is None:
        return None
    # A start without a file does not wait for the imports of its checks.
    from extensions.processing.integration_file import read_integration

    return read_integration(path)


def _read_scripts(outside: SimulatedSystems) -> dict[str, tuple[str, ...]]:
    return {name: system.planned for name, system in outside.systems.items()}
