"""The control API of asynchronous messages: send, search, show, restart and cancel them, script systems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec

from emulator.clock import Clock
from emulator.listeners.control.endpoint_routing import ApiError, handles, translate_errors
from emulator.rng import new_uuid
from emulator.settings.wrong_values import explain_value
from extensions.processing.processing_errors import ProcessingError
from extensions.processing.stored_messages import Search
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
    from extensions.processing.message_administration import Administration
    from extensions.processing.processing import Processing
    from extensions.processing.simulated_systems import SimulatedSystems
    from extensions.processing.stored_messages import Message

_BODY_SHOWN = 10_000


class _BegunProcessing(Protocol):
    """Processing that has begun."""

    @property
    def processing(self) -> Processing: ...
    @property
    def outside(self) -> SimulatedSystems: ...
    @property
    def administration(self) -> Administration: ...


class _Begins(Protocol):
    def ensure_running(self) -> _BegunProcessing:
        """Begin, if that has not been done, and return what there is then."""


class ProcessingResources:
    """The resources under ``/processing``; the first request begins ``processing``."""

    def __init__(self, processing: _Begins, clock: Clock) -> None:
        self._processing = processing
        self._clock = clock

    @handles(api.Processing.search)
    def search(self, *, limit: int, **wanted: Any) -> AsyncMessagePage:
        try:
            search = msgspec.convert(wanted, Search)
        except msgspec.ValidationError as error:
            _, why = explain_value(error, wanted, Search)
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad_request", why) from error
        found = self._processing.ensure_running().administration.search(search, limit)
        return AsyncMessagePage(tuple(map(_to_row, found)))

    @handles(api.Processing.receive)
    def receive(self, new: NewAsyncMessage) -> AsyncMessageDetail:
        from extensions.processing.stored_messages import NewMessage

        given = {
            **msgspec.structs.asdict(new),
            "body": new.body.encode(),
            "correlation": new.correlation or new_uuid(),
            "timestamp": self._clock.time() if new.timestamp is None else new.timestamp,
        }
        with _translate_processing_errors():
            receipt = self._processing.ensure_running().processing.receive(NewMessage(**given))
        if receipt.number is None:
            raise ApiError(HTTPStatus.BAD_REQUEST, receipt.code or "refused", receipt.additional_info or "")
        return self._detail(receipt.number)

    @handles(api.Processing.show)
    def show(self, number: int) -> AsyncMessageDetail:
        return self._detail(number)

    @handles(api.Processing.restart)
    def restart(self, number: int, how: Restart) -> AsyncMessageDetail:
        administration = self._processing.ensure_running().administration
        with _translate_processing_errors():
            if how.kind == "partial":
                administration.restart_partly(number)
            else:
                administration.restart_wholly(number)
        return self._detail(number)

    @handles(api.Processing.cancel)
    def cancel(self, number: int) -> AsyncMessageDetail:
        with _translate_processing_errors():
            self._processing.ensure_running().administration.cancel(number)
        return self._detail(number)

    @handles(api.Processing.answer)
    def answer(self, number: int, answer: Answer) -> AsyncMessageDetail:
        with _translate_processing_errors():
            self._processing.ensure_running().processing.answer(number, answer.answer.encode())
        return self._detail(number)

    @handles(api.Processing.systems)
    def systems(self) -> OutsideSystemList:
        return _list_systems(self._processing.ensure_running().outside)

    @handles(api.Processing.script)
    def script(self, system: str, script: Script) -> OutsideSystemList:
        outside = self._processing.ensure_running().outside
        if system not in outside.systems:
            known = ", ".join(outside.systems) or "none"
            message = f"no outside system is named {system!r}; there are: {known}"
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_system", message)
        with translate_errors((ValueError, HTTPStatus.BAD_REQUEST, "bad_script")):
            outside.systems[system].script(script.answers)
        return _list_systems(outside)

    def _detail(self, number: int) -> AsyncMessageDetail:
        with _translate_processing_errors():
            found = self._processing.ensure_running().administration.show(number)
            message = found.message
            return AsyncMessageDetail(
                _to_row(message),
                tuple(found.changes),
                tuple(msgspec.convert(each, OutsideCall, from_attributes=True) for each in found.calls),
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


def _list_systems(outside: SimulatedSystems) -> OutsideSystemList:
    systems = outside.systems.values()
    return OutsideSystemList(
        tuple(OutsideSystem(each.name, each.planned, len(each.received)) for each in systems)
    )


def _to_row(message: Message) -> AsyncMessage:
    """The part of it that is shown in one line."""
    return msgspec.convert(message, AsyncMessage, from_attributes=True)
