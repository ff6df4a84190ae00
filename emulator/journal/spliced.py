"""A text with references in the place of its payloads, and how the whole text is rendered again.

    encoded:  counts | files | lengths of literals | for each piece: file, jump, length | literals
    rendered: literal, piece 0, literal, piece 1, ..., literal

Numbers are kept by column, and a piece's start as the distance from the end of the piece before it in the
same file. That is mostly zero, so the columns almost vanish when the stretch is compressed.
"""

from __future__ import annotations

import binascii
import struct
from array import array
from collections.abc import Callable, Iterable
from itertools import chain, repeat
from typing import Final, TypeAlias

from pybase64 import b64decode, b64encode

Span: TypeAlias = tuple[int, int, bool]
"""Where a payload begins and ends in a text, and whether it is written in base64 there."""
Find: TypeAlias = Callable[[bytes], Iterable[Span]]
"""Finds the payloads in complete lines, or entries, of a text."""
Cut: TypeAlias = Callable[[bytes], int]
"""Where the last complete line, or entry, of a text ends; 0 when there is none."""
Read: TypeAlias = Callable[[int, int, int], bytes]
"""Reads from a payload file: its number, the first byte, how many bytes. Raises ``DamagedLogError``."""
Piece: TypeAlias = tuple[int, int, int]
"""The number of a payload file, where in it a payload begins, and how many bytes it has."""
Payload: TypeAlias = tuple[int, int, bytes, bool]
"""Where a payload begins and ends in a text, its bytes, and whether they are written in base64 there."""

_TOP: Final = struct.Struct("<IIII")
_WORD: Final = 0xFFFF_FFFF
_PADDING: Final = ord("=")
PART_BYTES: Final = 3 << 14
"""A long payload is referred to in parts of 64 KiB in base64, so that a read need not load all of it."""
_LEAST_BYTES: Final = 64
"""A shorter payload stays in the text: a reference would save no room."""


def no_payloads(_text: bytes) -> tuple[Span, ...]:
    """A ``Find`` that finds no payload."""
    return ()


def payloads_in(text: bytes, find: Find) -> list[Payload]:
    """The payloads that are worth a reference and that a reference renders byte for byte as they are."""
    found: list[Payload] = []
    for begin, end, in_base64 in find(text):
        if end - begin < _LEAST_BYTES:
            continue
        data = written = text[begin:end]
        if in_base64:
            try:
                data = b64decode(written, validate=True)
            except binascii.Error:
                continue
            # Base64 of the last bytes has unused bits. Another writer may have set them, and rendering
            # would clear them. Everything before has one spelling only.
            if written[-1] == _PADDING and b64encode(data[-(len(data) % 3) :]) != written[-4:]:
                continue
        found.append((begin, end, data, in_base64))
    return found


def text_bytes(length: int, in_base64: bool) -> int:
    """How many bytes of a text a payload of ``length`` bytes takes."""
    return (length + 2) // 3 * 4 if in_base64 else length


def end_of_lines(text: bytes) -> int:
    """A ``Cut`` of lines."""
    return text.rfind(b"\n") + 1


class Splice:
    """A text under construction, of literals and pieces of payload files in their order."""

    def __init__(self) -> None:
        self.literals: list[bytes] = [b""]
        self._files = array("Q")
        self._starts = array("I")
        self._lengths = array("I")

    @property
    def files(self) -> tuple[int, ...]:
        """The payload files that it refers to."""
        return tuple(sorted(set(self._files)))

    def add_literal(self, text: bytes) -> None:
        self.literals[-1] += text

    def add_piece(self, file: int, start: int, length: int, in_base64: bool) -> None:
        """Add ``length`` bytes from ``start`` on of a payload ``file``, in base64 or as they are."""
        self._files.append(file)
        self._starts.append(start)
        self._lengths.append(length << 1 | in_base64)
        self.literals.append(b"")

    def encode(self, skip: int, size: int) -> bytes:
        """Encode ``size`` bytes of the text after the first ``skip``, for ``render``."""
        files = self.files
        slots = {file: slot for slot, file in enumerate(files)}
        ends = dict.fromkeys(files, 0)
        jumps = array("I")
        for file, start, packed in zip(self._files, self._starts, self._lengths, strict=True):
            # A piece mostly begins where the last one of its file ended: zeros, which compress to nothing.
            jumps.append((start - ends[file]) & _WORD)
            ends[file] = start + (packed >> 1)
        columns = (
            array("Q", files),
            array("I", map(len, self.literals)),
            array("I", map(slots.__getitem__, self._files)),
            jumps,
            self._lengths,
        )
        top = _TOP.pack(len(self._files), len(files), skip, size)
        return b"".join([top, *(column.tobytes() for column in columns), *self.literals])


def render(raw: bytes, read: Read) -> bytes:
    """Return the text that a ``Splice`` encoded. Raises what ``read`` raises."""
    count, filed, skip, size = _TOP.unpack_from(raw)
    at = _TOP.size
    columns: list[array[int]] = []
    for code, length in (("Q", filed), ("I", count + 1), ("I", count), ("I", count), ("I", count)):
        column = array(code)
        column.frombytes(memoryview(raw)[at : at + length * column.itemsize])
        at += length * column.itemsize
        columns.append(column)
    files, literals, slots, jumps, lengths = columns
    ends = [0] * filed
    parts: list[bytes] = []
    pieces = zip(slots, jumps, lengths, strict=True)
    for literal, piece in zip(literals, chain(pieces, repeat(None)), strict=False):
        parts.append(raw[at : at + literal])
        at += literal
        if piece is not None:
            slot, jump, packed = piece
            start = (ends[slot] + jump) & _WORD
            ends[slot] = start + (packed >> 1)
            data = read(files[slot], start, packed >> 1)
            parts.append(b64encode(data) if packed & 1 else data)
    return b"".join(parts)[skip : skip + size]
