"""Splitting an oversize message into a sequence, and joining a sequence ("Multi-Message Sequence").

The ``messageBody`` of each part is a JSON string: a slice of the body's JSON text,
cut between code points. Joining restores that text byte for byte. Sizes are bytes of
UTF-8 of the whole serialised part.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from schemas.rdss import MAX_MESSAGE_BYTES
from schemas.rdss.envelope import serialise
from schemas.rdss.peek import peek

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_parts_of: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_object_of: Final = msgspec.json.Decoder(dict[str, Any]).decode
PATIENCE_SECONDS: Final = 24 * 3600.0
"""The time in seconds that a sequence waits for its next part: the default retention of a stream."""


class SequenceError(ValueError):
    """A message that cannot be split, or parts that do not make one message."""


class HeaderTooLargeError(SequenceError):
    """The header leaves no room for the body within the limit."""


class NotAPartError(SequenceError):
    """Bytes that are not a part of a sequence: unreadable, at a wrong position, or without a string body."""


class MixedPartsError(SequenceError):
    """Parts of different sequences, with different totals, or with different bodies for one position."""


class MissingPartsError(SequenceError):
    """Parts are missing; ``positions`` are the missing positions, ascending."""

    def __init__(self, sequence: str, positions: tuple[int, ...]) -> None:
        super().__init__(f"sequence {sequence} lacks the parts at positions {list(positions)}")
        self.sequence = sequence
        self.positions = positions


def split(
    message: dict[str, Any], *, limit: int = MAX_MESSAGE_BYTES, new_id: Callable[[], str]
) -> list[bytes]:
    """Serialise a message in parts of at most ``limit`` bytes each.

    A message that fits is returned as the only part. Otherwise the first part keeps the
    ``messageId``, and each other part gets one from ``new_id``, a source of UUIDs. All
    keep the sequence UUID. Raises ``HeaderTooLargeError``, and ``NotAPartError`` for a
    message without a header or a ``messageSequence``, or one that is already a part.
    """
    return split_raw(serialise(message), limit=limit, new_id=new_id)


def split_raw(raw: bytes, *, limit: int = MAX_MESSAGE_BYTES, new_id: Callable[[], str]) -> list[bytes]:
    """Split a message that is already serialised; the body's text is cut as written."""
    if len(raw) <= limit:
        return [raw]
    header, body = _header_and_body(raw)
    place = header.get("messageSequence")
    if not isinstance(place, dict) or place.get("total", 1) not in (0, 1):
        raise NotAPartError(f"only a whole message can be split, and this one's messageSequence is {place!r}")
    escaped = _escape(bytes(body))
    ids = [str(header.get("messageId"))]
    total = 1
    while True:
        slices = list(_slices(escaped, limit - len(_part(_with_position(header, ids[0], total, total), b""))))
        if len(slices) <= total:
            break
        total = len(slices)
    ids.extend(new_id() for _ in slices[1:])
    return [
        _part(_with_position(header, part_id, position, len(slices)), fragment)
        for position, (part_id, fragment) in enumerate(zip(ids, slices, strict=True), 1)
    ]


def size_in_string(text: bytes) -> int:
    """The number of bytes that JSON text takes up inside a JSON string."""
    return len(_escape(text))


def _escape(text: bytes) -> bytes:
    return msgspec.json.encode(text.decode())[1:-1]


def _slices(escaped: bytes, room: int) -> Iterator[bytes]:
    """Yield slices of at most ``room`` bytes of an escaped JSON string; no escape or code point is cut."""
    longest_code_point = 4
    if room < longest_code_point:
        raise HeaderTooLargeError(f"the header leaves {room} bytes for the body; shorten it")
    start = 0
    while start < len(escaped):
        end = min(start + room, len(escaped))
        while end < len(escaped) and escaped[end] & 0xC0 == 0x80:
            end -= 1
        chunk = escaped[start:end]
        # Every escape here has two bytes, so an odd run of backslashes at the end is a cut escape.
        if (len(chunk) - len(chunk.rstrip(b"\\"))) % 2:
            chunk = chunk[:-1]
        yield chunk
        start += len(chunk)


def _with_position(header: dict[str, Any], message_id: str, position: int, total: int) -> dict[str, Any]:
    place = header["messageSequence"] | {"position": position, "total": total}
    return header | {"messageId": message_id, "messageSequence": place}


def _part(header: dict[str, Any], fragment: bytes) -> bytes:
    return b'{"messageHeader":%b,"messageBody":"%b"}' % (msgspec.json.encode(header), fragment)


def _header_and_body(raw: bytes) -> tuple[dict[str, Any], msgspec.Raw]:
    try:
        parts = _parts_of(raw)
        return _object_of(parts["messageHeader"]), parts["messageBody"]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError) as error:
        raise NotAPartError(f"no message with a messageHeader object and a messageBody: {error}") from error


def body_of(raw: bytes) -> bytes:
    """The JSON text of the body as written. Raises ``NotAPartError`` where there is none."""
    return bytes(_header_and_body(raw)[1])


def shared_message_id(message_id: str | None) -> str:
    """The warning about parts that share one messageId."""
    return f"its parts share the messageId {message_id}; the header of each should have its own"


class Assembly:
    """Collects the parts of one sequence, in any order and with repetitions."""

    def __init__(self) -> None:
        self.sequence: str | None = None
        self.total: int | None = None
        self._fragments: dict[int, str] = {}
        self._first: dict[str, Any] = {}

    def add(self, raw: bytes) -> bool:
        """Add a part and return whether the sequence is complete.

        A repeated part changes nothing. Raises ``NotAPartError``, and
        ``MixedPartsError`` for a part that does not fit the parts before.
        """
        part = _read_part(raw)
        if (self.sequence or part.sequence, self.total or part.total) != (part.sequence, part.total):
            raise MixedPartsError(f"{part} is not one of the {self.total} parts of sequence {self.sequence}")
        if self._fragments.setdefault(part.position, part.fragment) != part.fragment:
            raise MixedPartsError(f"{part} differs from the one at its position that came before")
        self.sequence, self.total = part.sequence, part.total
        if part.position == 1:
            self._first = part.header
        return self.complete

    @property
    def complete(self) -> bool:
        return self.total is not None and len(self._fragments) == self.total

    @property
    def missing(self) -> tuple[int, ...]:
        """The first thousand missing positions, ascending; empty before the first part as well."""
        expected = range(1, (self.total or 0) + 1)
        return tuple(islice((at for at in expected if at not in self._fragments), 1000))

    def message(self) -> bytes:
        """Join the message: the first part's header at position 1 of 1, and the body byte for byte.

        The body is not validated and may not be JSON. Raises ``MissingPartsError``.
        """
        if not self.complete:
            raise MissingPartsError(self.sequence or "(none)", self.missing)
        header = _with_position(self._first, self._first["messageId"], 1, 1)
        body = "".join(self._fragments[at] for at in sorted(self._fragments)).encode()
        return b'{"messageHeader":%b,"messageBody":%b}' % (msgspec.json.encode(header), body)


class _Part(NamedTuple):
    sequence: str
    position: int
    total: int
    header: dict[str, Any]
    fragment: str

    def __str__(self) -> str:
        return f"part {self.position} of {self.total} of sequence {self.sequence}"


def _read_part(raw: bytes) -> _Part:
    header, body = _header_and_body(raw)
    glance = peek(raw)
    if (
        glance.sequence is None
        or glance.position is None
        or glance.total is None
        or glance.message_id is None
    ):
        raise NotAPartError("not a part of a sequence: messageId or messageSequence is missing or unreadable")
    if not 1 <= glance.position <= glance.total:
        raise NotAPartError(f"position {glance.position} is not within the total of {glance.total}")
    try:
        fragment = msgspec.json.decode(body, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise NotAPartError(
            f"not a part of a sequence: its messageBody is no JSON string: {error}"
        ) from error
    return _Part(glance.sequence, glance.position, glance.total, header, fragment)


def join(parts: Iterable[bytes]) -> bytes:
    """Join all parts of a message, in any order; a single whole message is returned unchanged.

    The header is the first part's, at position 1 of 1. The body is restored byte for
    byte. Raises a subclass of ``SequenceError``.
    """
    given = list(parts)
    if len(given) == 1 and not body_of(given[0]).startswith(b'"'):
        return given[0]
    assembly = Assembly()
    for part in given:
        assembly.add(part)
    return assembly.message()
