"""Confirmation callbacks: tell a source system how the processing of its message ended."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from emulator.events import Events
from extensions.processing.confirmation_policies import FRAMEWORK_FIELDS
from extensions.processing.expressions import MESSAGE_FIELDS, Record, fill_template, read_json_or_text
from extensions.processing.processing_errors import TechnicalError
from rdss_sandbox.text.timestamps import timestamp

if TYPE_CHECKING:
    import httpx


_LOG = logging.getLogger(__name__)
_REDIRECTS_KEEPING_METHOD: Final = frozenset({307, 308})
_MAX_REDIRECTS: Final = 5


class Confirmation(msgspec.Struct, frozen=True):
    """The end of a message, as its source system gets it.

    ``result`` is OK, SKIPPED, FAILED or CANCEL. ``additional_info`` gives the reason and the business errors.
    ``time`` is in seconds since the epoch. ``body`` is the message as it arrived. ``step`` tells two ends of
    one message apart: an end after a restart has a higher step.
    """

    number: int
    source: str
    correlation: str
    result: str
    additional_info: str | None
    time: float
    body: bytes
    step: int = 0
    service: str = ""
    operation: str = ""
    process: str | None = None
    object_id: str | None = None
    entity_type: str | None = None
    business_errors: tuple[str, ...] = ()

    @property
    def record(self) -> Record:
        """The record that templates read."""
        return {
            "message": {name: getattr(self, name) for name in MESSAGE_FIELDS},
            "body": read_json_or_text(self.body),
            "result": str(self.result),
            "info": self.additional_info,
            "time": timestamp(self.time),
            "business_errors": list(self.business_errors),
        }


class ConfirmationCallback(Protocol):
    """Tells one or several source systems. An exception makes the sandbox try again later."""

    def __call__(self, confirmation: Confirmation, /) -> None: ...


class LogConfirmation:
    """Writes a line to the log; no source system is notified."""

    def __call__(self, confirmation: Confirmation, /) -> None:
        info = f": {confirmation.additional_info}" if confirmation.additional_info else ""
        _LOG.info("%s %s is %s%s", confirmation.source, confirmation.correlation, confirmation.result, info)


class EventConfirmation:
    """Emits the event ``processing.confirmed``."""

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
    """Chooses the callback by source system; ``otherwise`` serves the systems that have none."""

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
    """Sends a request to a URL; the default body has the fields of the framework's service, as JSON.

    ``body`` is a template; a template that makes a text is sent as that text. Redirects that keep the method
    (307, 308) are followed. Raises ``httpx.HTTPError`` unless the answer is a success.
    """

    def __init__(
        self,
        url: str,
        client: httpx.Client,
        *,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        body: Any = FRAMEWORK_FIELDS,
    ) -> None:
        self._url = url
        self._client = client
        self._method = method
        self._headers = dict(headers or {})
        self._body = body

    def __call__(self, confirmation: Confirmation, /) -> None:
        content = _fill_body(self._body, confirmation)
        kind = "application/json" if not isinstance(content, str) else "text/plain; charset=utf-8"
        data = content.encode() if isinstance(content, str) else msgspec.json.encode(content)
        headers = self._headers
        if "content-type" not in {name.lower() for name in headers}:
            headers = headers | {"content-type": kind}
        self._send(self._client.build_request(self._method, self._url, content=data, headers=headers))

    def _send(self, request: httpx.Request) -> None:
        import httpx

        for _ in range(_MAX_REDIRECTS):
            where = request.url.copy_with(userinfo=b"", query=None)
            try:
                # Only the status matters. The body is not read, since it may be endless.
                answer = self._client.send(request, stream=True)
            except httpx.TransportError as error:
                raise httpx.TransportError(
                    f"{where}: {str(error) or repr(error)}", request=request
                ) from error
            answer.close()
            if answer.status_code not in _REDIRECTS_KEEPING_METHOD or answer.next_request is None:
                break
            request = answer.next_request
        if not answer.is_success:
            why = f"{where} answered {answer.status_code} {answer.reason_phrase}".strip()
            raise httpx.HTTPStatusError(why, request=request, response=answer)


class TopicConfirmation:
    """Publishes to a topic; the default body has the fields of the framework's service.

    ``publish`` returns None, or the reason why the topic refused the message. Raises TechnicalError when the
    topic refused it.
    """

    def __init__(self, publish: Callable[[bytes], str | None], *, body: Any = FRAMEWORK_FIELDS) -> None:
        self._publish = publish
        self._body = body

    def __call__(self, confirmation: Confirmation, /) -> None:
        refused = self._publish(msgspec.json.encode(_fill_body(self._body, confirmation)))
        if refused is not None:
            raise TechnicalError(refused)


def _fill_body(template: Any, confirmation: Confirmation) -> Any:
    content = fill_template(template, confirmation.record)
    if template == FRAMEWORK_FIELDS:
        return dict.fromkeys(FRAMEWORK_FIELDS) | content
    return content
