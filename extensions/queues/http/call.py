"""A request to the messaging API, and the parsing of its parts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from extensions.queues.engine import Address, QueueEngine
from extensions.queues.http.answers import RequestRefusedError, bad_body, bad_parameter

_TRUE: Final = frozenset(("true", "True", "t", "yes", "y", "1", "on"))
_FALSE: Final = frozenset(("false", "False", "f", "no", "n", "0", "off"))
_decode = msgspec.json.decode


@dataclass(slots=True)
class MessagingCall:
    """A request with a known path. ``names`` are the variable parts of the path.

    ``project`` and ``client`` (a UUID in its canonical form) are "" when they are optional and missing.
    """

    engine: QueueEngine
    version: str
    method: str
    path: str
    query: str
    names: list[str]
    params: dict[str, list[str]]
    headers: dict[bytes, bytes]
    body: bytes
    project: str = ""
    client: str = ""

    @property
    def at(self) -> Address:
        """The address of the queue in the path."""
        return Address(self.project, self.names[0])

    @property
    def queue_path(self) -> str:
        return f"/{self.version}/queues/{self.names[0]}"

    def header(self, name: bytes) -> str | None:
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    # -- the query

    def text(self, name: str) -> str | None:
        given = self.params.get(name)
        return given[-1] if given else None

    def integer(self, name: str, default: int) -> int:
        """An integer parameter. Raises ``RequestRefusedError`` for anything else."""
        given = self.text(name)
        if given is None:
            return default
        try:
            return int(given)
        except ValueError as error:
            raise bad_parameter(name, "The value must be an integer.") from error

    def flag(self, name: str) -> bool:
        """A boolean parameter, False when it is missing. Raises ``RequestRefusedError`` for anything else."""
        given = self.text(name)
        if given is None or given in _FALSE:
            return False
        if given in _TRUE:
            return True
        raise bad_parameter(name, 'The value of the parameter must be "true" or "false".')

    def several(self, name: str) -> list[str] | None:
        """The values of a repeated parameter, or of one with commas; None when it is missing."""
        given = self.params.get(name)
        return [each for text in given for each in text.split(",") if each] if given else None

    def next_page(self, marker: str, kept: Collection[str]) -> list[dict[str, str]]:
        """Build the link to the page after ``marker``, with the parameters of this query in ``kept``."""
        params = {name: values[-1] for name, values in self.params.items() if name in kept}
        return [{"rel": "next", "href": f"{self.path}?{urlencode(params | {'marker': marker})}"}]

    # -- the body

    def json(self) -> Any:
        """Parse the body's JSON.

        Raises ``RequestRefusedError``. Its text differs when the request has no Content-Length, as in Zaqar.
        """
        if not self.body and b"content-length" not in self.headers:
            raise bad_body("Request body can not be empty")
        try:
            return _decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise bad_body("Request body could not be parsed.") from error

    def document(self) -> dict[str, Any]:
        """Parse the body as a JSON object. Raises ``RequestRefusedError``."""
        document = self.json()
        if not isinstance(document, dict):
            raise bad_body("Document type not supported.")
        return document

    def document_or_empty(self) -> dict[str, Any]:
        """As ``document``, but an empty body gives an empty object."""
        return self.document() if self.body else {}


def field(document: dict[str, Any], name: str, default: int | None) -> int:
    """An integer field. It is required when ``default`` is None. Raises ``RequestRefusedError``."""
    return checked_integer(document.get(name, default), name)


def checked_integer(value: Any, name: str) -> int:
    """Return ``value`` if it is an integer. Raises ``RequestRefusedError``."""
    if value is None or value is msgspec.UNSET:
        raise bad_body(f'Missing "{name}" field.')
    if not isinstance(value, int) or isinstance(value, bool):
        raise bad_body(f'The value of the "{name}" field must be a int.')
    return value


def missing_header(name: str) -> RequestRefusedError:
    return RequestRefusedError(
        HTTPStatus.BAD_REQUEST, "Missing header value", f'The "{name}" header is required.'
    )
