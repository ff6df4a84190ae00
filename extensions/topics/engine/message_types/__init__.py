"""The message types of topics: JSON, NVFIX and binary.

On the wire and in the log every body is JSON: a JSON message as it is, an NVFIX message as a string, a binary
message as a Base64 string. Only this package knows the differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from extensions.topics.engine.message_types.binary import Binary
from extensions.topics.engine.message_types.json_text import JsonText
from extensions.topics.engine.message_types.nvfix import SOH, Nvfix

TypeName: TypeAlias = Literal["json", "nvfix", "binary"]


class MessageType(Protocol):
    """A message type. ``has_fields`` means that filters, keys and deltas can read the messages.

    ``framed`` means that decoding the command has already checked the body, so that it need not be parsed.
    """

    @property
    def name(self) -> TypeName: ...
    @property
    def has_fields(self) -> bool: ...
    @property
    def framed(self) -> bool: ...

    def parse(self, body: msgspec.Raw) -> Any:
        """Parse ``body`` for filters; None for a type without fields. Raises CommandRefusedError."""

    def render(self, fields: dict[str, Any]) -> msgspec.Raw:
        """Encode ``fields`` as a body. Raises ValueError for a name that the type cannot have."""

    def merge(self, body: msgspec.Raw, delta: msgspec.Raw) -> msgspec.Raw:
        """Replace the fields of ``delta`` in ``body``; a type without fields returns the delta."""

    def size(self, body: msgspec.Raw) -> int:
        """The size of the message in bytes, without its JSON encoding."""


JSON: Final = JsonText()

TYPES: Final[dict[TypeName, Callable[[str], MessageType]]] = {
    "json": lambda separator: _without(separator, JSON),
    "nvfix": lambda separator: Nvfix(separator or SOH),
    "binary": lambda separator: _without(separator, Binary()),
}


def message_type(name: TypeName, separator: str = "") -> MessageType:
    """Find the type ``name``; ``separator`` ends a field of NVFIX. Raises ValueError."""
    return TYPES[name](separator)


def _without(separator: str, found: MessageType) -> MessageType:
    if separator:
        raise ValueError(f"separator {separator!r} is for nvfix; {found.name} has none")
    return found
