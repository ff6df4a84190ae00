"""NVFIX: fields by name, each written ``name=value`` and ended by a separator, in a JSON string."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from extensions.topics.engine.command_refusal import CommandRefusedError

SOH: Final = "\x01"
"""What FIX ends a field with."""
MOST_FIELDS: Final = 20_000
"""Of a message: what it costs to take apart is bounded by that."""

Fields: TypeAlias = dict[str, str | list[str]]

_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Nvfix:
    """The message type ``nvfix``. Every value is a string; a repeated name makes an array.

    Raises ValueError for a separator that is not a single character, or is ``=``.
    """

    separator: str = SOH
    name: Literal["nvfix"] = "nvfix"
    has_fields: Literal[True] = True
    framed: Literal[False] = False

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or self.separator == "=":
            raise ValueError(f"separator {self.separator!r} is not one character other than =")

    def parse(self, body: msgspec.Raw) -> Fields:
        """Parse the fields by name, in their order. Raises CommandRefusedError."""
        written = self._text(body)
        self._check_number(written)
        fields: Fields = {}
        for pair in written.removesuffix(self.separator).split(self.separator) if written else ():
            name, equals, value = pair.partition("=")
            if not name or not equals:
                raise CommandRefusedError("bad message", f"{pair[:80]!r} is no name=value{self._ending}")
            known = fields.get(name)
            if known is None:
                fields[name] = value
            elif isinstance(known, list):
                known.append(value)
            else:
                fields[name] = [known, value]
        return fields

    def render(self, fields: dict[str, Any]) -> msgspec.Raw:
        """Encode ``fields`` one after another, without those that are None. Raises ValueError."""
        pairs: list[str] = []
        for name, value in fields.items():
            if not name or "=" in name or self.separator in name:
                raise ValueError(f"{name!r} cannot be the name of a field{self._ending}")
            values = value if isinstance(value, list) else [value]
            pairs += [f"{name}={one}{self.separator}" for one in values if one is not None]
        return msgspec.Raw(_encode("".join(pairs)))

    def merge(self, body: msgspec.Raw, delta: msgspec.Raw) -> msgspec.Raw:
        """``body`` with the fields of ``delta`` laid over it; a name that comes again is replaced whole."""
        merged = self.render(self.parse(body) | self.parse(delta))
        self._check_number(self._text(merged))
        return merged

    def size(self, body: msgspec.Raw) -> int:
        return len(self._text(body).encode())

    def _check_number(self, written: str) -> None:
        if written.count(self.separator) > MOST_FIELDS:
            raise CommandRefusedError("bad message", f"a message has {MOST_FIELDS} fields at most")

    @property
    def _ending(self) -> str:
        return f"; messages are nvfix, whose fields end with {self.separator!r}"

    def _text(self, body: msgspec.Raw) -> str:
        try:
            return _text(body)
        except msgspec.DecodeError:
            why = f"the data is no string{self._ending}: " + r'"id=1\u0001"' if body else "there is no data"
            raise CommandRefusedError("bad message", why) from None
