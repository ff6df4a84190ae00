"""A text of which parts stand elsewhere: what else is in it, and where each part is."""

from __future__ import annotations

import binascii
import struct
from array import array
from collections.abc import Callable, Iterable
from itertools import chain, repeat
from typing import Final, TypeAlias

from pybase64 import b64decode, b64encode

Span: TypeAlias = tuple[int, int, bool]
"""Where a payload begins and ends in a text, and whether it stands there in base64."""
Find: TypeAlias = Callable[[bytes], Iterable[Span]]
"""What knows where the payloads are in whole lines of a text."""
Read: TypeAlias = Callable[[int, int, int], bytes]
"""Reads from the payload file of a number, from a byte on, so many bytes. Raises ``DamagedLogError``."""
Piece: TypeAlias = tuple[int, int, int]
"""The number of a payload file, where in it a payload begins, and how many bytes it has."""
Payload: TypeAlias = tuple[int, int, bytes, bool]
"""Where a payload begins and ends in a text, its bytes, and whether they stand there in base64."""

_TOP: Final = struct.Struct("<IIII")
_WORD: Final = 0xFFFF_FFFF
_PADDING: Final = ord("=")
PART_BYTES: Final = 3 << 14
"""A long payload is referred to in parts, 64 KiB in base64, so that only what is near has to be read."""
_LEAST_BYTES: Final = 64
"""What is shorter is not worth the place of a reference."""


def no_payloads(_text: bytes) -> tuple[Span, ...]:
    """``Find`` for lines of which nobody knows."""
    return ()


def payloads_in(text: bytes, find: Find) -> list[Payload]:
    """The payloads that are worth a reference, and that come out of one as they stand there."""
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
            # There is one spelling of all but the last bytes.
            if written[-1] == _PADDING and b64encode(data[-(len(data) % 3) :]) != written[-4:]:
                continue
        found.append((begin, end, data, in_base64))
    return found


def text_bytes(length: int, in_base64: bool) -> int:
    """How much of a text a payload is."""
    return (length + 2) // 3 * 4 if in_base64 else length


class Splice:
    """A text that is put together of literals and pieces of payload files, in their order."""

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
        """``length`` bytes from ``start`` on in a payload ``file``; in the text in base64, or as they are."""
        self._files.append(file)
        self._starts.append(start)
        self._lengths.append(length << 1 | in_base64)
        self.literals.append(b"")

    def encoded(self, skip: int, size: int) -> bytes:
        """As ``render`` takes it: ``size`` bytes of the text, without the first ``skip``."""
        files = self.files
        slots = {file: slot for slot, file in enumerate(files)}
        ends = dict.fromkeys(files, 0)
        jumps = array("I")
        for file, start, packed in zip(self._files, self._starts, self._lengths, strict=True):
            # Mostly one begins where the last one ended: zeros, which take no room.
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
    """The text. Raises what ``read`` raises."""
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
