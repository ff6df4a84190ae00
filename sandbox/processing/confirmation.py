"""Confirmation: the source system is told how the processing of its message ended."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

from emulator.events import Events
from rdss_sandbox.timestamps import timestamp
from schemas.error_codes import ErrorCode

if TYPE_CHECKING:
    import httpx

    from sandbox.gateway.outbox import Outbox

_LOG = logging.getLogger(__name__)


class Confirmation(msgspec.Struct, frozen=True):
    """``result`` is OK, FAILED or CANCEL; ``additional_info`` why, or the business errors on the way.

    ``time`` in seconds since the epoch; ``body`` is the message as it came.
    """

    number: int
    source: str
    correlation: str
    result: str
    additional_info: str | None
    time: float
    body: bytes


class ConfirmationCallback(Protocol):
    """Tells one source system, or several. What it raises has it told again later."""

    def __call__(self, confirmation: Confirmation, /) -> None: ...


class LogConfirmation:
    """Writes a line to the log, and tells nobody."""

    def __call__(self, confirmation: Confirmation, /) -> None:
        info = f": {confirmation.additional_info}" if confirmation.additional_info else ""
        _LOG.info("%s %s is %s%s", confirmation.source, confirmation.correlation, confirmation.result, info)


class EventConfirmation:
    """Says so where everything else that happens is said: the event ``processing.confirmed``."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def __call__(self, confirmation: Confirmation, /) -> None:
        self._events.emit(
            "processing.confirmed",
            message=confirmation.number,
            source=confirmation.source,
            correlation=confirmation.correlation,
            result=confirmation.result,
            additional_info=confirmation.additional_info,
        )


class DelegateConfirmation:
    """Tells each source system in its own way; one that has none by ``otherwise``."""

    def __init__(
        self,
        callbacks: Mapping[str, ConfirmationCallback],
        otherwise: ConfirmationCallback | None = None,
    ) -> None:
        self._callbacks = {source.upper(): callback for source, callback in callbacks.items()}
        self._otherwise = otherwise or LogConfirmation()

    def __call__(self, confirmation: Confirmation, /) -> None:
        self._callbacks.get(confirmation.source, self._otherwise)(confirmation)


class HttpConfirmation:
    """POSTs to a URL: correlationID, timestamp, processingResult, additionalInfo, as JSON.

    Anything but a success is raised, as ``httpx.HTTPError``.
    """

    def __init__(self, url: str, client: httpx.Client) -> None:
        self._url = url
        self._client = client

    def __call__(self, confirmation: Confirmation, /) -> None:
        told = {
            "correlationID": confirmation.correlation,
            "timestamp": timestamp(confirmation.time),
            "processingResult": confirmation.result,
            "additionalInfo": confirmation.additional_info,
        }
        self._client.post(self._url, json=told).raise_for_status()


class RdssConfirmation:
    """Answers an RDSS message with one: the same type and body, its messageId as the correlationId.

    What did not end OK has the headers errorCode and errorDescription. Raises as ``Outbox.flush``.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def __call__(self, confirmation: Confirmation, /) -> None:
        received = msgspec.json.decode(confirmation.body)
        header = received["messageHeader"]
        message = self._outbox.message(
            header["messageType"],
            received["messageBody"],
            tenant=header["tenantJiscID"],
            message_class="Document",
            correlation_id=header["messageId"],
        )
        if confirmation.result != "OK":
            message["messageHeader"]["errorCode"] = str(ErrorCode.GENERR009)
            why = f"{confirmation.result}: {confirmation.additional_info or 'no reason was given'}"
            message["messageHeader"]["errorDescription"] = why
        self._outbox.keep_message(message)
        self._outbox.flush()
