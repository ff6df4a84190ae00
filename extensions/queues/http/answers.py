"""Answers and refusals of the messaging API: a status, headers and a JSON body."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final, NamedTuple

import msgspec

from emulator.http.asgi import Headers
from extensions.queues.engine.queue_errors import (
    BadPatchError,
    BadValueError,
    ClaimNotThereError,
    MessageClaimedError,
    MessageNotClaimedError,
    NotThereError,
    PatchConflictError,
    QueuesError,
    SubscriberTakenError,
)

encode = msgspec.json.Encoder().encode
_JSON: Final = (b"content-type", b"application/json")
_VARY: Final = (b"vary", b"Accept")


class MessagingAnswer(NamedTuple):
    """A response. ``headers`` are those besides Content-Type."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def all_headers(self) -> Headers:
        """All headers, with a Content-Type except for a 204."""
        given = list(self.headers)
        if self.status != HTTPStatus.NO_CONTENT and not any(name == b"content-type" for name, _ in given):
            given.append(_JSON)
        return given


NO_CONTENT: Final = MessagingAnswer(HTTPStatus.NO_CONTENT)


def answer_json(document: Any) -> MessagingAnswer:
    return MessagingAnswer(HTTPStatus.OK, encode(document))


def answer_location(status: int, path: str, body: bytes = b"") -> MessagingAnswer:
    return MessagingAnswer(status, body, ((b"location", path.encode()),))


class RequestRefusedError(Exception):
    """A request that is answered with an error. Its title and description are for people."""

    def __init__(
        self,
        status: HTTPStatus,
        title: str | None = None,
        description: str | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        super().__init__(description or title or status.phrase)
        self.status = status
        self.title = title
        self.description = description
        self.headers = headers

    def answer(self) -> MessagingAnswer:
        shown = {"title": self.title, "description": self.description}
        body = {key: value for key, value in shown.items() if value is not None}
        return MessagingAnswer(self.status, encode(body) if body else b"", (*self.headers, _VARY))


def bad_body(description: str) -> RequestRefusedError:
    return RequestRefusedError(HTTPStatus.BAD_REQUEST, "Invalid request body", description)


def bad_request(description: str) -> RequestRefusedError:
    return RequestRefusedError(HTTPStatus.BAD_REQUEST, "Invalid API request", description)


def bad_parameter(name: str, why: str) -> RequestRefusedError:
    description = f'The "{name}" parameter is invalid. {why}'
    return RequestRefusedError(HTTPStatus.BAD_REQUEST, "Invalid parameter", description)


def not_found(description: str) -> RequestRefusedError:
    return RequestRefusedError(HTTPStatus.NOT_FOUND, "Not found", description)


def nothing_here() -> RequestRefusedError:
    """Refuse an unknown path, or a wrong signature."""
    return RequestRefusedError(HTTPStatus.NOT_FOUND, "404 Not Found")


def not_allowed(allowed: str) -> RequestRefusedError:
    headers = ((b"allow", allowed.encode()),)
    return RequestRefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "405 Method Not Allowed", headers=headers)


def unavailable(error: Exception) -> RequestRefusedError:
    """Refuse what could not be stored, or needs a channel that is unavailable. Nothing was changed."""
    return RequestRefusedError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Service temporarily unavailable",
        f"{error} Please try again in a few seconds.",
    )


def build_refusal(error: QueuesError) -> RequestRefusedError:
    """Translate an error of the engine."""
    match error:
        case NotThereError():
            return not_found(str(error))
        case BadValueError():
            return bad_request(str(error))
        case BadPatchError():
            return bad_body(str(error))
        case PatchConflictError() | SubscriberTakenError():
            return RequestRefusedError(HTTPStatus.CONFLICT, "Resource conflict", str(error))
        case _:
            return unavailable(error)


def cannot_delete(
    error: ClaimNotThereError | MessageClaimedError | MessageNotClaimedError,
) -> RequestRefusedError:
    """Refuse to delete a message: 403 when another claim holds it, 400 for a wrong or expired claim."""
    status = HTTPStatus.BAD_REQUEST
    match error:
        case MessageClaimedError():
            status = HTTPStatus.FORBIDDEN
            why = "This message is claimed; it cannot be deleted without a valid claim ID."
        case MessageNotClaimedError():
            why = "A claim was specified, but the message is not currently claimed."
        case ClaimNotThereError():
            why = "The specified claim does not exist or has expired."
    return RequestRefusedError(status, "Unable to delete", why)
