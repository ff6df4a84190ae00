"""JSON: a body is the message itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from extensions.topics.engine.command_refusal import CommandRefusedError

DEEPEST: Final = 200

_decode = msgspec.json.Decoder().decode
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class JsonText:
    """The message type ``json``. A delta replaces the whole values of top-level fields."""

    name: Literal["json"] = "json"
    has_fields: Literal[True] = True
    framed: Literal[True] = True

    def parse(self, body: msgspec.Raw) -> Any:
        """Decode ``body``. Raises CommandRefusedError."""
        if not body:
            raise CommandRefusedError("bad message", "there is no data")
        try:
            value = _decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise CommandRefusedError("bad message", f"the data cannot be read as JSON ({error})") from None
        # A cheap look first: with fewer brackets than that, nothing is so deep.
        written = bytes(body)
        if written.count(b"[") + written.count(b"{") > DEEPEST and _deeper(value):
            raise CommandRefusedError("bad message", f"the data is nested deeper than {DEEPEST} levels")
        return value

    def render(self, fields: dict[str, Any]) -> msgspec.Raw:
        """Encode ``fields`` as an object."""
        return msgspec.Raw(_encode(fields))

    def merge(self, body: msgspec.Raw, delta: msgspec.Raw) -> msgspec.Raw:
        """Replace the fields of ``delta`` in ``body``; the bytes of the other fields stay the same."""
        return msgspec.Raw(_encode(_fields(body) | _fields(delta)))

    def size(self, body: msgspec.Raw) -> int:
        return len(memoryview(body))


def _deeper(value: Any) -> bool:
    """Whether ``value`` is nested deeper than later recursive code can handle."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [child for one in level for child in _children(one)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
