"""A segment that nothing is added to any more, compressed: the same bytes at the same positions.

The file is made of frames. Each but the last holds the next 256 KiB of the segment, compressed. The last
holds, compressed too, where the others begin and the segment's index; behind it stands its own position.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from isal.isal_zlib import compress, crc32, decompress

from emulator.journal import frames
from emulator.journal.frames import HEADER_BYTES, DamagedLogError, Frame
from emulator.journal.storage import sync_folders
from emulator.machine.private_files import FILE_MODE

SUFFIX: Final = ".packed"
STRETCH_BYTES: Final = 1 << 18
_STRETCHES_KEPT: Final = 8
_LEVEL: Final = 2
_END: Final = struct.Struct("<Q")


class Index(NamedTuple):
    """What is known of a segment without reading it: ``columns`` as it writes them when it is sealed."""

    columns: bytes
    size: int
    next: int
    last_arrival: int


class PackedStorage:
    """``Storage`` over a packed file, which is open only while it is read. Nothing can be appended."""

    def __init__(self, path: Path, end: int, stretches: array[int]) -> None:
        self.path = path
        self.end = end
        self._stretches = stretches

    @classmethod
    def open(cls, path: Path) -> tuple[PackedStorage, Index]:
        """The storage in ``path``, and the index packed with it. Raises ``DamagedLogError``."""
        with path.open("rb") as file:
            end = os.fstat(file.fileno()).st_size - _END.size
            if end < HEADER_BYTES:
                raise DamagedLogError(path, 0, "the file is too short to be a compressed segment")
            (position,) = _END.unpack(os.pread(file.fileno(), _END.size, end))
            if position > end - HEADER_BYTES:
                raise DamagedLogError(path, end, "the place of the last block is not in the file")
            found, payload = _inflated(file.fileno(), path, position)
        if found.end != end:
            raise DamagedLogError(path, position, "the last block is not where the file says")
        width = found.lines * _END.size
        stretches = array("Q")
        stretches.frombytes(payload[:width])
        (length,) = _END.unpack_from(payload, width)
        index = Index(payload[width + _END.size :], found.size, found.ordinal, found.arrival)
        return cls(path, length, stretches), index

    def append(self, _parts: list[bytes]) -> None:
        raise AssertionError(f"nothing is added to {self.path}")

    def read(self, position: int, length: int) -> bytes:
        """Bytes of the segment. Raises ``DamagedLogError`` when they are not those that were packed."""
        end = min(position + length, self.end)
        pieces: list[memoryview] = []
        while position < end:
            number, start = divmod(position, STRETCH_BYTES)
            piece = memoryview(_stretch(self, number))[start : start + end - position]
            if not piece:
                raise DamagedLogError(self.path, self._stretches[number], "a compressed block is too short")
            pieces.append(piece)
            position += len(piece)
        return b"".join(pieces)

    def stretch(self, number: int) -> bytes:
        """The ``number``-th 256 KiB of the segment. Raises ``DamagedLogError``."""
        with self.path.open("rb") as file:
            frame, payload = _inflated(file.fileno(), self.path, self._stretches[number])
        if frame.ordinal != number:
            raise DamagedLogError(
                self.path, frame.position, f"block {frame.ordinal} stands where {number} should"
            )
        return payload

    def sync(self) -> None:
        """Nothing to do: it survived loss of power before it took its place."""

    def close(self) -> None:
        """Nothing to do: no file is open."""

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)


def pack(path: Path, index: Index) -> PackedStorage:
    """Write a segment's file anew, compressed, beside the old one. Raises OSError.

    When this returns the new file is whole and survives loss of power, so that the old one can be removed.
    """
    draft, target = path.with_suffix(f"{SUFFIX}.draft"), path.with_suffix(SUFFIX)
    try:
        return _packed(path, index, draft, target)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _packed(path: Path, index: Index, draft: Path, target: Path) -> PackedStorage:
    stretches = array("Q")
    with path.open("rb") as source, open(draft, "wb", opener=_private) as file:
        end = os.fstat(source.fileno()).st_size
        for number, stretch in enumerate(_stretches(source.fileno())):
            payload = compress(stretch, _LEVEL)
            stretches.append(file.tell())
            file.write(frames.header(payload, size=len(stretch), ordinal=number) + payload)
        position = file.tell()
        payload = compress(stretches.tobytes() + _END.pack(end) + index.columns, _LEVEL)
        file.write(
            frames.header(
                payload,
                lines=len(stretches),
                size=index.size,
                ordinal=index.next,
                arrival=index.last_arrival,
            )
        )
        file.write(payload + _END.pack(position))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(target)
    sync_folders(target, levels=1)
    return PackedStorage(target, end, stretches)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)


def segment_files(directory: Path) -> list[Path]:
    """The files of the segments in ``directory``, packed or not, the oldest first.

    What a process left that died while it packed is removed: the file that was to be packed is there still.
    """
    there = sorted(directory.iterdir()) if directory.is_dir() else []
    unpacked = {path.stem for path in there if path.suffix == ".log"}
    packed = {path.stem for path in there if path.suffix == SUFFIX} - unpacked
    found: list[Path] = []
    for path in there:
        if path.suffix == ".log" or (path.suffix == SUFFIX and path.stem in packed):
            found.append(path)
        elif path.suffix in (".draft", SUFFIX) or (path.suffix == ".index" and path.stem in packed):
            path.unlink()
    return found


def _stretches(descriptor: int) -> Iterator[bytes]:
    position = 0
    while stretch := os.pread(descriptor, STRETCH_BYTES, position):
        yield stretch
        position += len(stretch)


@lru_cache(maxsize=_STRETCHES_KEPT)
def _stretch(storage: PackedStorage, number: int) -> bytes:
    """Readers come back to where they stopped, which is mostly within what they read before."""
    return storage.stretch(number)


def _inflated(descriptor: int, path: Path, position: int) -> tuple[Frame, bytes]:
    frame = frames.parse(os.pread(descriptor, HEADER_BYTES, position), position)
    if frame is None:
        raise DamagedLogError(path, position, "the header of a compressed block does not match its checksum")
    payload = os.pread(descriptor, frame.length, frame.start)
    if crc32(payload) != frame.check:
        raise DamagedLogError(path, position, "a compressed block does not match its checksum")
    return frame, decompress(payload)
