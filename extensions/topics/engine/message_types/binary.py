"""Binary messages: opaque bytes in a Base64 JSON string."""

from __future__ import annotations

import binascii
from base64 import b64decode
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from extensions.topics.engine.command_refusal import CommandRefusedError

_text = msgspec.json.Decoder(str).decode


@dataclass(frozen=True, slots=True)
class Binary:
    """The message type ``binary``. It has no fields, so a delta is the message itself."""

    name: Literal["binary"] = "binary"
    has_fields: Literal[False] = False
    framed: Literal[False] = False

    def parse(self, body: msgspec.Raw) -> None:
        """Check the Base64 and return None. Raises CommandRefusedError."""
        _decoded(body)

    def render(self, fields: dict[str, Any]) -> msgspec.Raw:
        """Raise ValueError, since there are no fields."""
        raise ValueError(f"binary messages have no fields, so there is no place for {', '.join(fields)}")

    def merge(self, body: msgspec.Raw, delta: msgspec.Raw) -> msgspec.Raw:  # noqa: ARG002 -- there is no merging
        return delta

    def size(self, body: msgspec.Raw) -> int:
        return len(_decoded(body))


def _decoded(body: msgspec.Raw) -> bytes:
    try:
        return b64decode(_text(body), validate=True)
    except (msgspec.DecodeError, binascii.Error, ValueError) as error:
        why = f"messages are binary, a string in Base64; this is none ({error})"
        raise CommandRefusedError("bad message", why if body else "there is no data") from None
