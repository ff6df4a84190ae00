"""Bytes that nothing is added to any more, compressed: the same bytes at the same positions.

The file is made of frames. Each but the last holds the next 256 KiB of a segment, compressed: as they are, or
with references to payload files. The last holds, compressed too, where the others begin, which payload files
are referred to, and the segment's index; behind it stands its own position.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from isal.isal_zlib import compress, crc32, decompress

from emulator.journal import frames
from emulator.journal.frames import HEADER_BYTES, DamagedLogError, Frame
from emulator.journal.spliced import Read, render
from emulator.journal.storage import sync_folders
from emulator.machine.private_files import FILE_MODE

SUFFIX: Final = ".packed"
_STRETCH_BITS: Final = 18
STRETCH_BYTES: Final = 1 << _STRETCH_BITS
_STRETCHES_KEPT: Final = 8
_LEVEL: Final = 2
_COMPRESSED, _SPLICED, _AS_IT_IS = 1, 2, 3
"""What a block says that it has lines: how its stretch is written."""
_SAMPLE_BYTES: Final = 1 << 13
_SAVING: Final = 0.97
"""Of what saves less than that, a compressed stretch is only slower to read."""
_END: Final = struct.Struct("<Q")
_REFERS: Final = 1 << 31
"""Added to the number of stretches in the last block of a file that says which payload files it refers to."""


class Index(NamedTuple):
    """What is known of a segment without reading it: ``columns`` as it writes them when it is sealed."""

    columns: bytes
    size: int
    next: int
    last_arrival: int


class Shared(Protocol):
    """The payload files that packed files refer to."""

    def read(self, file: int, start: int, length: int, /) -> bytes:
        """Raises ``DamagedLogError``."""

    def release(self, files: Iterable[int], /) -> None: ...


class PackedStorage:
    """``Storage`` over a packed file, which is open only while it is read. Nothing can be appended.

    ``files`` are the payload files that it refers to, to be read in ``shared``.
    """

    def __init__(
        self,
        path: Path,
        end: int,
        stretches: array[int],
        files: tuple[int, ...] = (),
        shared: Shared | None = None,
    ) -> None:
        self.path = path
        self.end = end
        self.files = files
        self._stretches = stretches
        self._shared = shared

    @classmethod
    def open(cls, path: Path, shared: Shared | None = None) -> tuple[PackedStorage, Index]:
        """The storage in ``path``, and the index packed with it. Raises ``DamagedLogError``."""
        with path.open("rb") as file:
            end = os.fstat(file.fileno()).st_size - _END.size
            if end < HEADER_BYTES:
                raise DamagedLogError(path, 0, "the file is too short to be a compressed segment")
            (position,) = _END.unpack(os.pread(file.fileno(), _END.size, end))
            if position > end - HEADER_BYTES:
                raise DamagedLogError(path, end, "the place of the last block is not in the file")
            found, raw = _block(file.fileno(), path, position)
        payload = decompress(raw)
        if found.end != end:
            raise DamagedLogError(path, position, "the last block is not where the file says")
        at = (found.lines & ~_REFERS) * _END.size
        stretches, files = array("Q"), array("Q")
        stretches.frombytes(payload[:at])
        (length,) = _END.unpack_from(payload, at)
        at += _END.size
        if found.lines & _REFERS:
            (count,) = _END.unpack_from(payload, at)
            files.frombytes(payload[at + _END.size : at + (count + 1) * _END.size])
            at += (count + 1) * _END.size
        index = Index(payload[at:], found.size, found.ordinal, found.arrival)
        return cls(path, length, stretches, tuple(files), shared), index

    def append(self, _parts: list[bytes]) -> None:
        raise AssertionError(f"nothing is added to {self.path}")

    def read(self, position: int, length: int) -> bytes:
        """Bytes of the segment. Raises ``DamagedLogError`` when they are not those that were packed."""
        end = min(position + length, self.end)
        if end - 1 >> _STRETCH_BITS == position >> _STRETCH_BITS:
            start = position & STRETCH_BYTES - 1
            found = _stretch(self, position >> _STRETCH_BITS)[start : start + end - position]
            if len(found) == end - position:
                return found
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
            frame, payload = _block(file.fileno(), self.path, self._stretches[number])
        if frame.ordinal != number:
            raise DamagedLogError(
                self.path, frame.position, f"block {frame.ordinal} stands where {number} should"
            )
        if self._shared is None and self.files:
            raise DamagedLogError(
                self.path, frame.position, "the payload files that it refers to are not known"
            )
        return whole_stretch(frame, payload, self._shared.read if self._shared else _refuse)

    def sync(self) -> None:
        """Nothing to do: it survived loss of power before it took its place."""

    def close(self) -> None:
        """Nothing to do: no file is open."""

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)
        if self._shared is not None:
            self._shared.release(self.files)


class PackedFile:
    """A packed file while it is written: as a draft, until it is ``finish``ed. Raises OSError."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._draft = target.with_suffix(f"{target.suffix}.draft")
        self._file = open(self._draft, "wb", opener=_private)  # noqa: SIM115 -- closed by finish or discard
        self._stretches = array("Q")
        self._end = 0

    def add(self, stretch: bytes) -> None:
        """The next 256 KiB, or less at the end."""
        if _saves_little(stretch):
            self._add(stretch, len(stretch), _AS_IT_IS)
        else:
            self._add(compress(stretch, _LEVEL), len(stretch), _COMPRESSED)

    def add_spliced(self, encoded: bytes, size: int) -> None:
        """The next 256 KiB, or less at the end: ``size`` bytes, as a ``Splice`` encodes them."""
        self._add(compress(encoded, _LEVEL), size, _SPLICED)

    def finish(
        self, index: Index, files: tuple[int, ...] = (), shared: Shared | None = None
    ) -> PackedStorage:
        """Have it take its place. It is whole then and survives loss of power."""
        position = self._file.tell()
        referred = array("Q", (len(files), *files)).tobytes()
        payload = compress(
            self._stretches.tobytes() + _END.pack(self._end) + referred + index.columns, _LEVEL
        )
        top = frames.header(
            payload,
            lines=len(self._stretches) | _REFERS,
            size=index.size,
            ordinal=index.next,
            arrival=index.last_arrival,
        )
        self._file.write(top + payload + _END.pack(position))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._draft.replace(self._target)
        sync_folders(self._target, levels=1)
        return PackedStorage(self._target, self._end, self._stretches, files, shared)

    def discard(self) -> None:
        """Leave nothing of it."""
        # What is still to be written may find the disk full.
        with suppress(OSError):
            self._file.close()
        for path in (self._draft, self._target):
            path.unlink(missing_ok=True)

    def _add(self, payload: bytes, size: int, lines: int) -> None:
        number = len(self._stretches)
        self._stretches.append(self._file.tell())
        self._file.write(frames.header(payload, lines=lines, size=size, ordinal=number) + payload)
        self._end += size


def whole_stretch(frame: Frame, payload: bytes, read: Read) -> bytes:
    """What a block of a packed file holds of it. Raises what ``read`` raises."""
    if frame.lines == _AS_IT_IS:
        return payload
    inflated = decompress(payload)
    return render(inflated, read) if frame.lines == _SPLICED else inflated


def _saves_little(stretch: bytes) -> bool:
    """Whether compressing saves little, by some of it."""
    middle = len(stretch) // 2
    sample = b"".join(
        stretch[at : at + _SAMPLE_BYTES] for at in (0, middle, max(0, len(stretch) - _SAMPLE_BYTES))
    )
    return len(compress(sample, _LEVEL)) > _SAVING * len(sample)


def _refuse(file: int, _start: int, _length: int) -> bytes:
    raise AssertionError(f"nothing refers to payload file {file}")


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


@lru_cache(maxsize=_STRETCHES_KEPT)
def _stretch(storage: PackedStorage, number: int) -> bytes:
    """Readers come back to where they stopped, which is mostly within what they read before."""
    return storage.stretch(number)


def _block(descriptor: int, path: Path, position: int) -> tuple[Frame, bytes]:
    frame = frames.parse(os.pread(descriptor, HEADER_BYTES, position), position)
    if frame is None:
        raise DamagedLogError(path, position, "the header of a compressed block does not match its checksum")
    payload = os.pread(descriptor, frame.length, frame.start)
    if crc32(payload) != frame.check:
        raise DamagedLogError(path, position, "a compressed block does not match its checksum")
    return frame, payload
