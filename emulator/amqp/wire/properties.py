"""The properties of a content: each kept as its bytes, so that what comes back is what was sent."""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import Final

from emulator.amqp.wire.field_tables import TEXT, Table, decode_table, encode_table

_FLAGS: Final = Struct(">H")
_LENGTH: Final = Struct(">I")
NAMES: Final = (
    *("content_type", "content_encoding", "headers", "delivery_mode", "priority", "correlation_id"),
    *("reply_to", "expiration", "message_id", "timestamp", "type", "user_id", "app_id", "cluster_id"),
)
_FLAG: Final = {name: 15 - place for place, name in enumerate(NAMES)}
NUMBERS: Final = {"delivery_mode": 1, "priority": 1, "timestamp": 8}
"""The properties that are numbers, with their bytes."""
_FIXED: Final = {_FLAG[name]: size for name, size in NUMBERS.items()}
_HEADERS: Final = _FLAG["headers"]
EMPTY: Final = b"\0\0"
"""The encoded properties of a content that has none."""


@lru_cache(maxsize=256)
def _find_set(flags: int) -> tuple[int, ...]:
    """The flags of the properties that are there, in the order of their values."""
    return tuple(flag for flag in range(15, 1, -1) if flags & 1 << flag)


class Properties:
    """The properties of one content, by their names in the specification (section 1.8.1).

    ``changed`` says that they are no longer those that were read.
    """

    __slots__ = ("_headers", "_values", "changed")

    def __init__(self, encoded: bytes = EMPTY) -> None:
        """Take the property flags and list of a content header.

        Raises BadTableError, IndexError or ``struct.error`` for what is none.
        """
        (flags,) = _FLAGS.unpack_from(encoded)
        self.changed = False
        at = _FLAGS.size
        self._values: dict[int, bytes] = {}
        for flag in _find_set(flags):
            if flag == _HEADERS:
                end = at + _LENGTH.size + _LENGTH.unpack_from(encoded, at)[0]
            elif flag in _FIXED:
                end = at + _FIXED[flag]
            else:
                end = at + 1 + encoded[at]
            if end > len(encoded):
                raise IndexError
            self._values[flag] = encoded[at:end]
            at = end
        self._headers = self._decode_headers()
        if self._must_sort_headers():
            self.set_headers(self._headers)

    def encode(self) -> bytes:
        flags = sum(1 << flag for flag in self._values)
        return _FLAGS.pack(flags) + b"".join(
            self._values[flag] for flag in sorted(self._values, reverse=True)
        )

    def text(self, name: str) -> str | None:
        """A property that is a short string; None without it."""
        value = self._values.get(_FLAG[name])
        return None if value is None else value[1:].decode(*TEXT)

    def number(self, name: str) -> int | None:
        """A property that is a number; None without it."""
        value = self._values.get(_FLAG[name])
        return None if value is None else int.from_bytes(value, "big")

    def headers(self) -> Table:
        """A copy of the table of headers; empty without one."""
        return dict(self._headers)

    def set_headers(self, headers: Table) -> None:
        """Replace the headers. RabbitMQ sorts them by their keys, and leaves nested tables as they are."""
        self._headers = dict(sorted(headers.items()))
        self._values[_HEADERS] = encode_table(self._headers)
        self.changed = True

    def set_text(self, name: str, value: str) -> None:
        encoded = value.encode(*TEXT)
        self._values[_FLAG[name]] = bytes((len(encoded),)) + encoded
        self.changed = True

    def set_number(self, name: str, value: int) -> None:
        self._values[_FLAG[name]] = value.to_bytes(NUMBERS[name], "big")
        self.changed = True

    def remove(self, name: str) -> None:
        if self._values.pop(_FLAG[name], None) is not None and name == "headers":
            self._headers = {}

    def _decode_headers(self) -> Table:
        """Read the headers, once: a frame has room for twelve thousand. Raises BadTableError."""
        value = self._values.get(_HEADERS)
        return {} if value is None else decode_table(value)[0]

    def _must_sort_headers(self) -> bool:
        """Whether a header is behind one of a higher key."""
        value = self._values.get(_HEADERS)
        if value is None or len(value) == _LENGTH.size:
            return False
        keys = list(self._headers)
        # A client may send L, which comes back as l, and may send a key twice; both are written anew.
        return True if b"L" in value else keys != sorted(keys)
