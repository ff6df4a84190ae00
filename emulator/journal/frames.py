"""The frame that every journal file is made of: a header with checksums, then a payload.

    +--------+-------------+-------+------+---------+---------+------------+---------+
    | length | payload CRC | lines | size | ordinal | arrival | header CRC | payload |
    | 4      | 4           | 4     | 4    | 8       | 8       | 4          | length  |
    +--------+-------------+-------+------+---------+---------+------------+---------+

All numbers are little-endian. A process that dies while it writes leaves a part of a frame at the end of the
file. A machine that loses power may leave zeros there. Both are a torn tail and are cut. Any other checksum
that does not fit is damage and raises ``DamagedLogError``: acknowledged data is never dropped in silence.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from isal.isal_zlib import crc32

_FIELDS = struct.Struct("<IIIIQQ")
_CHECK = struct.Struct("<I")
_LENGTH = struct.Struct("<I")
_HEADER = struct.Struct("<IIIIQQI")
HEADER_BYTES = _HEADER.size
_SCAN_BYTES = 1 << 20
_TAIL_BYTES = 1 << 14


class DamagedLogError(Exception):
    """A journal file is damaged. The message names the file, the byte, what is wrong and what to do."""

    def __init__(self, path: Path, position: int, reason: str) -> None:
        super().__init__(
            f"{path} is damaged at byte {position}: {reason}. Restore the file from a copy, "
            "or let sandbox repair keep what can be read and put the rest aside."
        )
        self.path = path
        self.position = position
        self.reason = reason


class Frame(NamedTuple):
    """A header as read, with the ``position`` at which it starts.

    The payload holds ``lines`` records, numbered from ``ordinal``. They arrived at ``arrival`` (milliseconds
    since the epoch) and carry ``size`` bytes of user data.
    """

    position: int
    length: int
    check: int
    lines: int
    size: int
    ordinal: int
    arrival: int

    @property
    def start(self) -> int:
        """Where the payload starts."""
        return self.position + HEADER_BYTES

    @property
    def end(self) -> int:
        """Where the next frame starts."""
        return self.position + HEADER_BYTES + self.length


def header(payload: bytes, *, lines: int = 1, size: int = 0, ordinal: int = 0, arrival: int = 0) -> bytes:
    fields = _FIELDS.pack(len(payload), crc32(payload), lines, size, ordinal, arrival)
    return fields + _CHECK.pack(crc32(fields))


def parse(raw: bytes, position: int, offset: int = 0) -> Frame | None:
    """The header at ``offset`` in ``raw`` and ``position`` in its file; None when it is damaged."""
    if len(raw) < offset + HEADER_BYTES:
        return None
    length, check, lines, size, ordinal, arrival, own_check = _HEADER.unpack_from(raw, offset)
    if crc32(memoryview(raw)[offset : offset + _FIELDS.size]) != own_check:
        return None
    return Frame(position, length, check, lines, size, ordinal, arrival)


def end_of_frames(raw: bytes) -> int:
    """Where the last complete frame of ``raw`` ends, which begins with one; 0 when none is complete."""
    end = 0
    while end + HEADER_BYTES <= len(raw):
        (length,) = _LENGTH.unpack_from(raw, end)
        if end + HEADER_BYTES + length > len(raw):
            break
        end += HEADER_BYTES + length
    return end


def scan(descriptor: int, path: Path) -> Iterator[Frame]:
    """The complete frames of a file, each with its payload checked, up to a torn tail.

    Raises ``DamagedLogError``.
    """
    position, end = 0, os.fstat(descriptor).st_size
    buffer, base = b"", 0
    while position < end:
        if position + HEADER_BYTES > base + len(buffer):
            buffer, base = os.pread(descriptor, _SCAN_BYTES, position), position
        frame = parse(buffer, position, position - base)
        if frame is None:
            if end - position < HEADER_BYTES or _zeroed(descriptor, position + HEADER_BYTES, end):
                return
            raise DamagedLogError(path, position, "the header of a block does not match its checksum")
        if frame.end > end:
            return
        if frame.end > base + len(buffer):
            size = max(_SCAN_BYTES, HEADER_BYTES + frame.length)
            buffer, base = os.pread(descriptor, size, position), position
        payload = memoryview(buffer)[frame.start - base : frame.end - base]
        if crc32(payload) != frame.check:
            if _zeroed(descriptor, frame.end, end):
                return
            raise DamagedLogError(path, position, "a block does not match its checksum")
        yield frame
        position = frame.end


def write_all(descriptor: int, parts: list[bytes], position: int) -> int:
    """Write ``parts`` at ``position`` and return where they end. OSError leaves the file as it was."""
    total = sum(map(len, parts))
    try:
        written = os.pwritev(descriptor, parts, position)
        while written < total:
            written += os.pwrite(descriptor, b"".join(parts)[written:], position + written)
    except OSError:
        os.ftruncate(descriptor, position)
        raise
    return position + total


def ends_in_zeros(descriptor: int) -> bool:
    """Whether a file's last byte is zero, as loss of power leaves a tail that was never written."""
    end = os.fstat(descriptor).st_size
    return end > 0 and os.pread(descriptor, 1, end - 1) == b"\0"


def ends_whole(path: Path) -> bool:
    """Whether the file is empty or ends with a complete frame.

    Only the last 16 KiB are read: a file whose last frame is longer counts as torn.
    """
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        tail = os.pread(file.fileno(), _TAIL_BYTES, max(0, end - _TAIL_BYTES))
    for offset in range(len(tail) - HEADER_BYTES, -1, -1):
        (length,) = _LENGTH.unpack_from(tail, offset)
        if offset + HEADER_BYTES + length == len(tail):
            frame = parse(tail, 0, offset)
            if frame is not None and crc32(tail[offset + HEADER_BYTES :]) == frame.check:
                return True
    return end == 0


def _zeroed(descriptor: int, until: int, end: int) -> bool:
    """Whether the byte before ``until`` and all that follow are zero, as loss of power leaves them."""
    position = until - 1
    while position < end:
        chunk = os.pread(descriptor, min(1 << 20, end - position), position)
        if chunk.strip(b"\0"):
            return False
        position += len(chunk)
    return True
