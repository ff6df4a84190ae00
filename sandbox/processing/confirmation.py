"""Confirmation: the source system is told how the processing of its message ended."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID, uuid5

import msgspec

from emulator.channels import Channel
from emulator.clock import Clock
from emulator.events import Events
from rdss_sandbox.timestamps import timestamp
from sandbox.gateway import Machine
from sandbox.gateway.authorship import Author
from sandbox.processing.errors import TechnicalError, ValidationError
from sandbox.processing.expressions import MESSAGE, Record, filled, readable
from sandbox.processing.telling import PUBLISHED
from sandbox.receiver.rejects import LONGEST_DESCRIPTION
from schemas.error_codes import ErrorCode
from schemas.peek import peek
from schemas.sequence import SequenceError, split

if TYPE_CHECKING:
    import httpx

_LOG = logging.getLogger(__name__)
_IDS: Final = UUID("2b4f1f0c-7a4e-5f0b-8a55-3d0f2f6f9a10")
_KEEPS_ITS_METHOD: Final = frozenset({307, 308})
_MOST_REDIRECTS: Final = 5


class Confirmation(msgspec.Struct, frozen=True):
    """``result`` is OK, SKIPPED, FAILED or CANCEL; ``additional_info`` why, or business errors on the way.

    ``time`` in seconds since the epoch; ``body`` is the message as it came. ``step`` is that of the end: one
    that follows a restart has another.
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
        """What templates see of it."""
        return {
            "message": {name: getattr(self, name) for name in MESSAGE},
            "body": readable(self.body),
            "result": str(self.result),
            "info": self.additional_info,
            "time": timestamp(self.time),
            "business_errors": list(self.business_errors),
        }


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
    """Sends a request to a URL, by default the fields of the framework's own service as JSON.

    ``body`` is a template; a text is sent as it is. A redirect that keeps the method is followed. Anything
    but a success is raised, as ``httpx.HTTPError``.
    """

    def __init__(
        self,
        url: str,
        client: httpx.Client,
        *,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        body: Any = PUBLISHED,
    ) -> None:
        self._url = url
        self._client = client
        self._method = method
        self._headers = dict(headers or {})
        self._body = body

    def __call__(self, confirmation: Confirmation, /) -> None:
        content = _content(self._body, confirmation)
        kind = "application/json" if not isinstance(content, str) else "text/plain; charset=utf-8"
        data = content.encode() if isinstance(content, str) else msgspec.json.encode(content)
        headers = self._headers
        if "content-type" not in {name.lower() for name in headers}:
            headers = headers | {"content-type": kind}
        self._send(self._client.build_request(self._method, self._url, content=data, headers=headers))

    def _send(self, request: httpx.Request) -> None:
        import httpx

        for _ in range(_MOST_REDIRECTS):
            where = request.url.copy_with(userinfo=b"", query=None)
            try:
                # What it answers besides the status is nobody's, and may be endless.
                answer = self._client.send(request, stream=True)
            except httpx.TransportError as error:
                raise httpx.TransportError(
                    f"{where}: {str(error) or repr(error)}", request=request
                ) from error
            answer.close()
            if answer.status_code not in _KEEPS_ITS_METHOD or answer.next_request is None:
                break
            request = answer.next_request
        if not answer.is_success:
            why = f"{where} answered {answer.status_code} {answer.reason_phrase}".strip()
            raise httpx.HTTPStatusError(why, request=request, response=answer)


class RdssConfirmation:
    """Answers an RDSS message with one: the same type and body, its messageId as the correlationId.

    What did not end OK has the headers errorCode and errorDescription. An end that is told again is told
    under the messageId that it had. Raises ValidationError for a message that is none of RDSS, and what the
    channel raises.
    """

    def __init__(self, channel: Channel, clock: Clock, *, generator: str, machine: Machine) -> None:
        self._channel = channel
        self._clock = clock
        self._generator = generator
        self._machine = machine

    def __call__(self, confirmation: Confirmation, /) -> None:
        numbers = itertools.count()

        def new_id() -> str:
            end = (confirmation.source, confirmation.correlation, str(confirmation.step), str(next(numbers)))
            return str(uuid5(_IDS, "\x1f".join(end)))

        try:
            parts = split(self._answer(confirmation, new_id), new_id=new_id)
        except (msgspec.MsgspecError, SequenceError, LookupError, TypeError, UnicodeDecodeError) as error:
            why = f"the message is no RDSS message that could be answered: {error}"
            raise ValidationError(why) from error
        for outcome in self._channel.publish_many([(part, peek(part).message_id or "-") for part in parts]):
            if isinstance(outcome, Exception):
                raise outcome

    def _answer(self, confirmation: Confirmation, new_id: Callable[[], str]) -> dict[str, Any]:
        received = msgspec.json.decode(confirmation.body)
        header, error = received["messageHeader"], None
        if confirmation.result != "OK":
            why = f"{confirmation.result}: {confirmation.additional_info or 'no reason was given'}"
            error = (ErrorCode.GENERR009, why[:LONGEST_DESCRIPTION])
        message = Author(self._generator, self._clock, new_id).message(
            header["messageType"],
            received["messageBody"],
            tenant=header["tenantJiscID"],
            message_class="Document",
            correlation_id=header["messageId"],
            error=error,
        )
        message["messageHeader"]["messageHistory"] = [self._machine.entry(self._clock.time())]
        return message


class TopicConfirmation:
    """Publishes to a topic, by default the fields of the framework's own service.

    ``publish`` gives a message to the topic, and says why it was not taken if it was not.
    """

    def __init__(self, publish: Callable[[bytes], str | None], *, body: Any = PUBLISHED) -> None:
        self._publish = publish
        self._body = body

    def __call__(self, confirmation: Confirmation, /) -> None:
        refused = self._publish(msgspec.json.encode(_content(self._body, confirmation)))
        if refused is not None:
            raise TechnicalError(refused)


def _content(template: Any, confirmation: Confirmation) -> Any:
    content = filled(template, confirmation.record)
    if template is PUBLISHED or template == PUBLISHED:
        return dict.fromkeys(PUBLISHED) | content
    return content
