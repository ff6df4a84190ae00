"""What the messages of a topic are written in: JSON, or one of the types beside it.

A body is JSON on the wire and in the log whatever its type: JSON is a body as it stands, NVFIX a string,
and binary data a string in Base64. What is between is here, and nobody else asks which type it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from emulator.topics.engine.message_types.binary import Binary
from emulator.topics.engine.message_types.json_text import JsonText
from emulator.topics.engine.message_types.nvfix import SOH, Nvfix

TypeName: TypeAlias = Literal["json", "nvfix", "binary"]


class MessageType(Protocol):
    """``has_fields``: filters, keys and deltas can ask for what is in a message.

    ``framed``: whoever read the frame has found the body to be one, so that it need not be parsed.
    """

    @property
    def name(self) -> TypeName: ...
    @property
    def has_fields(self) -> bool: ...
    @property
    def framed(self) -> bool: ...

    def parse(self, body: msgspec.Raw) -> Any:
        """What ``body`` says, as filters read it; None without fields. Raises CommandRefusedError."""

    def render(self, fields: dict[str, Any]) -> msgspec.Raw:
        """The body that says ``fields``. Raises ValueError for a name that the type cannot have."""

    def merge(self, body: msgspec.Raw, delta: msgspec.Raw) -> msgspec.Raw:
        """``body`` with the fields of ``delta`` laid over it; the delta itself where there are none."""

    def size(self, body: msgspec.Raw) -> int:
        """How many bytes the message has, without what carries it in JSON."""


JSON: Final = JsonText()

TYPES: Final[dict[TypeName, Callable[[str], MessageType]]] = {
    "json": lambda separator: _without(separator, JSON),
    "nvfix": lambda separator: Nvfix(separator or SOH),
    "binary": lambda separator: _without(separator, Binary()),
}


def message_type(name: TypeName, separator: str = "") -> MessageType:
    """The type ``name``; ``separator`` is what ends a field of NVFIX. Raises ValueError."""
    return TYPES[name](separator)


def _without(separator: str, found: MessageType) -> MessageType:
    if separator:
        raise ValueError(f"separator {separator!r} is for nvfix; {found.name} has none")
    return found
