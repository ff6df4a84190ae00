"""The control API of asynchronous messages: send, search, show, restart and cancel them, script systems."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from emulator.assembly.components import Components
from emulator.listeners.control.routing import ApiError, handles, translate_errors
from emulator.machine.private_files import touch
from emulator.rng import new_uuid
from extensions.processing.errors import IntegrationError, ProcessingError
from extensions.processing.search import Search
from rdss_sandbox.api import processing as api
from rdss_sandbox.shapes.processing import (
    Action,
    Answer,
    AsyncMessage,
    AsyncMessageDetail,
    AsyncMessagePage,
    NewAsyncMessage,
    OutsideCall,
    OutsideSystem,
    OutsideSystemList,
    Restart,
    Script,
)

if TYPE_CHECKING:
    # Slow to import, and only needed once there is a message.
    from extensions.processing.administration import Administration
    from extensions.processing.integration import Integration
    from extensions.processing.processing import Processing
    from extensions.processing.simulated_systems import SimulatedSystems
    from extensions.processing.sources import Sources
    from extensions.processing.stored_messages import Message

_STORE = "processing.sqlite3"
_FIELDS = AsyncMessage.__struct_fields__
_BODY_SHOWN = 10_000
_encode = msgspec.json.Encoder().encode
_decode_scripts = msgspec.json.Decoder(dict[str, tuple[str, ...]]).decode


class _Running(NamedTuple):
    processing: Processing
    outside: SimulatedSystems
    administration: Administration
    sources: Sources

    def close(self) -> None:
        """Stop processing, wait for its workers, and close the connections to source systems."""
        self.processing.close()
        self.sources.close()


class ProcessingResources:
    """The resources under ``/processing``.

    Processing starts with the first request, or at once if the data directory has messages. Without an
    ``integration`` it is the default one.
    """

    name = "processing"
    _components: Components

    def __init__(self, integration: Integration | None) -> None:
        self._integration = integration
        self._running: _Running | None = None
        self._lock = threading.Lock()
        self._folder: TemporaryDirectory[str] | None = None

    def attach(self, components: Components) -> ProcessingResources:
        """Serve the sandbox with these components."""
        self._components = components
        components.extensions.append(self)
        if components.settings.data_dir is not None and self._path().exists():
            self._ensure_running()
        return self

    def check_destinations(self) -> None:
        """Raise IntegrationError for a confirmation URL that is forbidden.

        Call it after the sandbox's ports are open, since those are forbidden too.
        """
        from extensions.processing.integration import DEFAULT
        from extensions.processing.sources import find_forbidden_destination

        if (why := find_forbidden_destination(self._integration or DEFAULT, self._components)) is not None:
            raise IntegrationError(why)

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

    def save(self) -> list[bytes]:
        """Return a copy of every message and call, and of the scripts, for ``load``. Raises OSError."""
        with self._lock:
            running = self._running
            if running is None and not (self._components.settings.data_dir and self._path().exists()):
                return []
            scripts = {} if running is None else _read_scripts(running.outside)
            with closing(sqlite3.connect(self._path(), isolation_level=None)) as connection:
                return [_encode(scripts), connection.serialize()]

    def load(self, saved: Sequence[bytes | memoryview]) -> None:
        """Replace every message, call and script by what was saved, and go on with them. Raises OSError."""
        self.reset()
        if not saved:
            return
        with self._lock:
            touch(self._path()).write_bytes(saved[1])
        outside = self._ensure_running().outside
        for name, answers in _decode_scripts(saved[0]).items():
            if name in outside.systems:
                outside.systems[name].script(answers)

    def close(self) -> None:
        """Stop processing; the next sandbox on this data directory continues the open messages."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.close()
        if self._folder is not None:
            self._folder.cleanup()

    def _ensure_running(self) -> _Running:
        from extensions.processing.administration import Administration
        from extensions.processing.integration import DEFAULT, build_routes, build_systems
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
                self._running = _Running(processing, outside, Administration(processing), sources)
            return self._running

    def _path(self) -> Path:
        if self._components.settings.data_dir is not None:
            return self._components.settings.data_dir / _STORE
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="sandbox-processing-")
        return Path(self._folder.name) / _STORE

    @handles(api.Processing.search)
    def search(self, *, limit: int, **wanted: Any) -> AsyncMessagePage:
        found = self._ensure_running().administration.search(msgspec.convert(wanted, Search), limit)
        return AsyncMessagePage(tuple(map(_to_row, found)))

    @handles(api.Processing.receive)
    def receive(self, new: NewAsyncMessage) -> AsyncMessageDetail:
        from extensions.processing.stored_messages import NewMessage

        given = {
            **msgspec.structs.asdict(new),
            "body": new.body.encode(),
            "correlation": new.correlation or new_uuid(),
            "timestamp": self._components.clock.time() if new.timestamp is None else new.timestamp,
        }
        with _translate_processing_errors():
            receipt = self._ensure_running().processing.receive(NewMessage(**given))
        if receipt.number is None:
            raise ApiError(HTTPStatus.BAD_REQUEST, receipt.code or "refused", receipt.additional_info or "")
        return self._detail(receipt.number)

    @handles(api.Processing.show)
    def show(self, number: int) -> AsyncMessageDetail:
        return self._detail(number)

    @handles(api.Processing.restart)
    def restart(self, number: int, how: Restart) -> AsyncMessageDetail:
        administration = self._ensure_running().administration
        with _translate_processing_errors():
            if how.kind == "partial":
                administration.restart_partly(number)
            else:
                administration.restart_wholly(number)
        return self._detail(number)

    @handles(api.Processing.cancel)
    def cancel(self, number: int) -> AsyncMessageDetail:
        with _translate_processing_errors():
            self._ensure_running().administration.cancel(number)
        return self._detail(number)

    @handles(api.Processing.answer)
    def answer(self, number: int, answer: Answer) -> AsyncMessageDetail:
        with _translate_processing_errors():
            self._ensure_running().processing.answer(number, answer.answer.encode())
        return self._detail(number)

    @handles(api.Processing.systems)
    def systems(self) -> OutsideSystemList:
        return _list_systems(self._ensure_running().outside)

    @handles(api.Processing.script)
    def script(self, system: str, script: Script) -> OutsideSystemList:
        outside = self._ensure_running().outside
        if system not in outside.systems:
            known = ", ".join(outside.systems) or "none"
            message = f"no outside system is named {system!r}; there are: {known}"
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_system", message)
        with translate_errors((ValueError, HTTPStatus.BAD_REQUEST, "bad_script")):
            outside.systems[system].script(script.answers)
        return _list_systems(outside)

    def _detail(self, number: int) -> AsyncMessageDetail:
        with _translate_processing_errors():
            found = self._ensure_running().administration.show(number)
            message = found.message
            return AsyncMessageDetail(
                _to_row(message),
                tuple(found.changes),
                tuple(
                    OutsideCall(*(getattr(each, name) for name in OutsideCall.__struct_fields__))
                    for each in found.calls
                ),
                tuple(map(_to_row, found.children)),
                cast("tuple[Action, ...]", tuple(found.actions)),
                message.business_errors,
                message.custom_data,
                message.body[:_BODY_SHOWN].decode(errors="replace"),
            )


@contextmanager
def _translate_processing_errors() -> Iterator[None]:
    """Translate the errors of processing to those of the control API."""
    from extensions.processing.transitions import IllegalTransitionError

    try:
        yield
    except LookupError as error:
        raise ApiError(HTTPStatus.NOT_FOUND, "no_such_message", str(error.args[0])) from error
    except IllegalTransitionError as error:
        raise ApiError(HTTPStatus.CONFLICT, "wrong_state", str(error)) from error
    except ProcessingError as error:
        raise ApiError(HTTPStatus.TOO_MANY_REQUESTS, error.code, str(error)) from error


def _read_scripts(outside: SimulatedSystems) -> dict[str, tuple[str, ...]]:
    return {name: system.planned for name, system in outside.systems.items()}


def _list_systems(outside: SimulatedSystems) -> OutsideSystemList:
    systems = outside.systems.values()
    return OutsideSystemList(
        tuple(OutsideSystem(each.name, each.planned, len(each.received)) for each in systems)
    )


def _to_row(message: Message) -> AsyncMessage:
    return AsyncMessage(**{name: getattr(message, name) for name in _FIELDS})
