"""Asynchronous messages through the control API: send, find, look at, restart, cancel; script the systems."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple, cast

import msgspec

from emulator.assembly.components import Components
from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from emulator.rng import new_uuid
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
    StateChange,
)
from sandbox.processing.administration import Administration, Details, Search
from sandbox.processing.errors import ProcessingError
from sandbox.processing.integration import Integration, routes_of, systems_of
from sandbox.processing.integration_file import IntegrationError
from sandbox.processing.processing import Processing
from sandbox.processing.records import CallRecord, Message, NewMessage
from sandbox.processing.simulated_systems import SimulatedSystems
from sandbox.processing.sources import Sources, refused_destination
from sandbox.processing.transitions import IllegalTransitionError

_STORE = "processing.sqlite3"
_ROW = AsyncMessage.__struct_fields__
_BODY_SHOWN = 10_000


class SearchQuery(Search, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to find, and how many of it."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class _Running(NamedTuple):
    processing: Processing
    outside: SimulatedSystems
    administration: Administration
    sources: Sources

    def close(self) -> None:
        """Stop processing, wait until that is so, and tell nobody any more."""
        self.processing.close()
        self.sources.close()


class ProcessingResources:
    """``/processing``. Nothing runs before somebody asks, but where an earlier sandbox left messages."""

    _parts: Components

    def __init__(self, integration: Integration) -> None:
        self._integration = integration
        self._running: _Running | None = None
        self._lock = threading.Lock()
        self._folder: TemporaryDirectory[str] | None = None

    def over(self, parts: Components) -> ProcessingResources:
        """Of the sandbox with these parts."""
        self._parts = parts
        parts.on_reset.append(self.reset)
        if parts.settings.data_dir is not None and self._path().exists():
            self._open()
        return self

    def check_destinations(self) -> None:
        """IntegrationError when a source would be told at a place that must not be called.

        It is to be asked once the sandbox's ports are open.
        """
        if (why := refused_destination(self._integration, self._parts)) is not None:
            raise IntegrationError(why)

    def routes(self) -> list[Route]:
        messages, one = "/processing/messages", "/processing/messages/{number}"
        systems, script = "/processing/systems", "/processing/systems/{name}/script"
        found, detail = AsyncMessagePage, AsyncMessageDetail
        accepted = HTTPStatus.ACCEPTED
        return [
            Route("GET", messages, "Find asynchronous messages", self._search, found, SearchQuery),
            Route(
                "POST",
                messages,
                "Hand over a message to be processed",
                self._receive,
                detail,
                body=NewAsyncMessage,
                status=accepted,
            ),
            Route("GET", one, "A message, its calls, changes and children", self._show, detail),
            Route("POST", f"{one}/restart", "Process it again", self._restart, detail, body=Restart),
            Route("POST", f"{one}/cancel", "End it", self._cancel, detail),
            Route(
                "POST", f"{one}/answer", "Give it the answer it waits for", self._answer, detail, body=Answer
            ),
            Route("GET", systems, "The simulated outside systems", self._systems, OutsideSystemList),
            Route("PUT", script, "What a system answers next", self._script, OutsideSystemList, body=Script),
        ]

    def reset(self) -> None:
        """Forget every message, call and script. What a worker is at ends on its own, and nobody hears of it.

        Another process that has the store open keeps what is in it, on a file that has no name any more.
        """
        with self._lock:
            running, self._running = self._running, None
            if running is None and self._parts.settings.data_dir is None:
                return
            if running is not None:
                running.processing.abandon()
            path = self._path()
            for file in (path, path.with_name(f"{_STORE}-wal"), path.with_name(f"{_STORE}-shm")):
                file.unlink(missing_ok=True)
        if running is not None:
            # A worker may wait for an outside system: a reset does not wait for that.
            threading.Thread(target=running.close, name="abandoned", daemon=True).start()

    def close(self) -> None:
        """Stop processing; what is not done is done by the next sandbox on this data."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.close()
        if self._folder is not None:
            self._folder.cleanup()

    def _open(self) -> _Running:
        with self._lock:
            if self._running is None:
                parts, integration = self._parts, self._integration
                outside = systems_of(integration, parts.clock, parts.fault_engine)
                sources = Sources(integration, parts)
                processing = Processing(
                    self._path(),
                    routes_of(integration),
                    outside,
                    parts.clock,
                    parts.events,
                    parameters=integration.parameters,
                    confirm=sources,
                    tellings=sources.tellings,
                    fsync=parts.settings.fsync,
                )
                processing.start()
                self._running = _Running(processing, outside, Administration(processing), sources)
            return self._running

    def _path(self) -> Path:
        if self._parts.settings.data_dir is not None:
            return self._parts.settings.data_dir / _STORE
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="sandbox-processing-")
        return Path(self._folder.name) / _STORE

    def _search(self, asked: Asked[SearchQuery, None]) -> AsyncMessagePage:
        found = self._open().administration.search(asked.query, asked.query.limit)
        return AsyncMessagePage(tuple(map(_row, found)))

    def _receive(self, asked: Asked[Nothing, NewAsyncMessage]) -> AsyncMessageDetail:
        given = asked.body
        new = NewMessage(
            service=given.service,
            operation=given.operation,
            body=given.body.encode(),
            source=given.source,
            correlation=given.correlation or new_uuid(),
            timestamp=self._parts.clock.time() if given.timestamp is None else given.timestamp,
            process=given.process,
            object_id=given.object_id,
            entity_type=given.entity_type,
            funnel=given.funnel,
            guaranteed_order=given.guaranteed_order,
            without_failed=given.without_failed,
        )
        with _refused():
            receipt = self._open().processing.receive(new)
        if receipt.number is None:
            raise ApiError(HTTPStatus.BAD_REQUEST, receipt.code or "refused", receipt.additional_info or "")
        return self._detail(receipt.number)

    def _show(self, asked: Asked[Nothing, None]) -> AsyncMessageDetail:
        return self._detail(_number(asked))

    def _restart(self, asked: Asked[Nothing, Restart]) -> AsyncMessageDetail:
        number, administration = _number(asked), self._open().administration
        with _refused():
            if asked.body.kind == "partial":
                administration.restart_partly(number)
            else:
                administration.restart_wholly(number)
        return self._detail(number)

    def _cancel(self, asked: Asked[Nothing, None]) -> AsyncMessageDetail:
        number = _number(asked)
        with _refused():
            self._open().administration.cancel(number)
        return self._detail(number)

    def _answer(self, asked: Asked[Nothing, Answer]) -> AsyncMessageDetail:
        number = _number(asked)
        with _refused():
            self._open().processing.answer(number, asked.body.answer.encode())
        return self._detail(number)

    def _systems(self, _: Asked[Nothing, None]) -> OutsideSystemList:
        systems = self._open().outside.systems.values()
        return OutsideSystemList(
            tuple(OutsideSystem(each.name, each.planned, len(each.received)) for each in systems)
        )

    def _script(self, asked: Asked[Nothing, Script]) -> OutsideSystemList:
        name, systems = asked.path["name"], self._open().outside.systems
        if name not in systems:
            message = f"no outside system is named {name!r}; there are: {', '.join(systems) or 'none'}"
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_system", message)
        try:
            systems[name].script(asked.body.answers)
        except ValueError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad_script", str(error)) from error
        return self._systems(Asked({}, Nothing(), None, asked.request))

    def _detail(self, number: int) -> AsyncMessageDetail:
        with _refused():
            return _shown(self._open().administration.show(number))


@contextmanager
def _refused() -> Iterator[None]:
    """What the processing refuses, as the control API says it."""
    try:
        yield
    except LookupError as error:
        raise ApiError(HTTPStatus.NOT_FOUND, "no_such_message", str(error.args[0])) from error
    except IllegalTransitionError as error:
        raise ApiError(HTTPStatus.CONFLICT, "wrong_state", str(error)) from error
    except ProcessingError as error:
        raise ApiError(HTTPStatus.TOO_MANY_REQUESTS, error.code, str(error)) from error


def _number(asked: Asked[Any, Any]) -> int:
    given = asked.path["number"]
    if not given.isdecimal() or len(given) > 18:
        raise ApiError(HTTPStatus.NOT_FOUND, "no_such_message", f"{given!r} is not the number of a message")
    return int(given)


def _row(message: Message) -> AsyncMessage:
    return AsyncMessage(**{name: getattr(message, name) for name in _ROW})


def _shown(found: Details) -> AsyncMessageDetail:
    message = found.message
    return AsyncMessageDetail(
        _row(message),
        tuple(
            StateChange(*(getattr(each, name) for name in StateChange.__struct_fields__))
            for each in found.changes
        ),
        tuple(
            OutsideCall(*(getattr(each, name) for name in OutsideCall.__struct_fields__))
            for each in found.calls
        ),
        tuple(map(_row, found.children)),
        cast("tuple[Action, ...]", tuple(found.actions)),
        message.business_errors,
        message.custom_data,
        message.body[:_BODY_SHOWN].decode(errors="replace"),
    )


def _call(call: CallRecord) -> OutsideCall:
    return OutsideCall(**{name: getattr(call, name) for name in OutsideCall.__struct_fields__})
