"""Headers of messages, and the text in which they are where no transport carries them beside a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class WithHeaders(NamedTuple):
    """A message, and the headers that its transport carried beside it; None of a transport that has none."""

    data: bytes
    headers: Mapping[str, Any] | None


class Headers(Protocol):
    """Headers of messages, on the transports that carry them: elsewhere they and the message are one text.

    ``names`` are those that the contract names. A property of the transport that is named so is a header.
    """

    @property
    def names(self) -> frozenset[str]: ...

    def write(self, raw: bytes, headers: Mapping[str, Any], /) -> bytes:
        """Make one text of a message and its headers, which are values of JSON."""

    def read(self, raw: bytes, /) -> WithHeaders:
        """Read such a text; other bytes are a message without headers. Never raises."""


def leave_headers_out(headers: Headers | None, raw: bytes) -> bytes:
    """A message as a transport without headers carries it."""
    return headers.read(raw).data if headers else raw


def replace_message(headers: Headers | None, text: bytes, raw: bytes) -> bytes:
    """A text with another message in it, and the same headers."""
    beside = headers.read(text).headers if headers else None
    return raw if headers is None or beside is None else headers.write(raw, beside)
