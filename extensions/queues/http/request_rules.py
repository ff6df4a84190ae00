"""The rules for every request: its headers, project, queue name and signature."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import Final, TypeAlias
from uuid import UUID

from extensions.queues.engine import bounds as checks
from extensions.queues.engine.queue_errors import BadValueError
from extensions.queues.engine.signatures import Signed
from extensions.queues.http.answers import RequestRefusedError, nothing_here
from extensions.queues.http.call import MessagingCall, missing_header

Rule: TypeAlias = Callable[[MessagingCall], None]
"""Checks one thing, and stores it in the call. Raises ``RequestRefusedError``."""

_JSON_RANGES: Final = ("*/*", "application/*", "application/json")


def check_signature(call: MessagingCall) -> None:
    """Check that a given signature is ours and permits this method and path. A wrong one gets a 404."""
    given = call.header(b"url-signature")
    if given is None:
        return
    methods = (call.header(b"url-methods") or "").split(",")
    paths = (call.header(b"url-paths") or "").split(",")
    inside = any(call.path == path or call.path.startswith(path + "/") for path in paths)
    signed = Signed(
        paths, methods, call.header(b"x-project-id") or "", call.header(b"url-expires") or "", given
    )
    if call.method not in methods or not inside or not call.engine.verify(signed):
        raise nothing_here()


def check_content(call: MessagingCall) -> None:
    """Refuse form data."""
    given = call.header(b"content-type") or ""
    if call.body and given.lower() == "application/x-www-form-urlencoded":
        raise RequestRefusedError(
            HTTPStatus.BAD_REQUEST,
            "Invalid Content-Type",
            "Endpoint does not accept `application/x-www-form-urlencoded` content; currently supported media "
            "type is `application/json`; specify proper client-side media type with the "
            '"Content-Type" header.',
        )


def check_accept(call: MessagingCall) -> None:
    """Check that the client accepts JSON."""
    given = call.headers.get(b"accept")
    if given is not None and not _welcomes_json(given):
        raise RequestRefusedError(HTTPStatus.NOT_ACCEPTABLE)


def check_client(call: MessagingCall) -> None:
    """Check that the client identifies itself with a UUID."""
    if b"client-id" not in call.headers:
        raise missing_header("Client-Id")
    check_optional_client(call)


def check_optional_client(call: MessagingCall) -> None:
    """Check that the client's id, if given, is a UUID."""
    given = call.headers.get(b"client-id")
    if given is not None:
        try:
            call.client = _parse_uuid(given)
        except ValueError as error:
            raise RequestRefusedError(
                HTTPStatus.BAD_REQUEST, "Wrong UUID value", "Malformed hexadecimal UUID."
            ) from error


def check_project(call: MessagingCall) -> None:
    check_optional_project(call)
    if not call.project:
        raise RequestRefusedError(
            HTTPStatus.BAD_REQUEST, "Project-Id Missing", "The header X-PROJECT-ID was missing"
        )


def check_optional_project(call: MessagingCall) -> None:
    """Check that the project, if given, is not empty."""
    given = call.header(b"x-project-id")
    if given == "":
        raise RequestRefusedError(
            HTTPStatus.BAD_REQUEST,
            "Empty project header not allowed",
            "X-PROJECT-ID cannot be an empty string. Specify the right header X-PROJECT-ID and retry.",
        )
    call.project = given or ""


def check_queue(call: MessagingCall) -> None:
    """Check that the queue's name in the path is valid."""
    if call.names:
        try:
            checks.queue_address(call.project, call.names[0])
        except BadValueError as error:
            raise RequestRefusedError(
                HTTPStatus.BAD_REQUEST,
                "Invalid queue identification",
                "The format of the submitted queue name or project id is not valid.",
            ) from error


DISCOVERY: Final[tuple[Rule, ...]] = (check_accept,)
V1: Final[tuple[Rule, ...]] = (
    check_signature,
    check_content,
    check_accept,
    check_optional_client,
    check_optional_project,
    check_queue,
)
V1_1_AND_2: Final[tuple[Rule, ...]] = (
    check_signature,
    check_content,
    check_accept,
    check_client,
    check_project,
    check_queue,
)


@lru_cache(maxsize=256)
def _welcomes_json(accepted: bytes) -> bool:
    for part in accepted.decode("latin-1").split(","):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        if media.lower() in _JSON_RANGES and not any(_is_zero(each) for each in parameters):
            return True
    return False


def _is_zero(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and value.strip(" 0.") == ""


@lru_cache(maxsize=4096)
def _parse_uuid(text: bytes) -> str:
    return str(UUID(text.decode("latin-1")))
