"""A packed file: a segment that is complete, compressed, and read at the same positions as before.

    streams/000000001/000000000000/0000000000000001.packed
    +--------+-----------+--------+-----------+-- --+--------+---------------------+-------------+
    | header | stretch 0 | header | stretch 1 | ... | header | offsets, files used | position of |
    |        |           |        |           |     |        | and segment index   | last header |
    +--------+-----------+--------+-----------+-- --+--------+---------------------+-------------+
                              | text, (file 7, byte 4096, 812 bytes, in base64), text, ...
                              v
    payloads/0000000000000007.payloads   the same form; its stretches hold payloads, end to end

A stretch is 256 KiB of the segment (the last may be shorter). It is compressed as it is, compressed with
references to payload files in the place of payloads, or stored as it is where compressing saves nothing.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from isal.isal_zlib import compress, crc32, decompress

from emulator.journal import frames
from emulator.journal.frames import HEADER_BYTES, DamagedLogError, Frame
from emulator.journal.inventory import sync_names
from emulator.journal.spliced import Read, render
from emulator.machine.private_files import FILE_MODE
from rdss_sandbox.files.rewriting import DRAFT, put_in_place

SUFFIX: Final = ".packed"
_STRETCH_BITS: Final = 18
STRETCH_BYTES: Final = 1 << _STRETCH_BITS
_STRETCHES_KEPT: Final = 8
_LEVEL: Final = 2
_COMPRESSED, _SPLICED, _AS_IT_IS = 1, 2, 3
"""How a stretch is written. Its header says it in the field ``lines``, which has no other use here."""
_SAMPLE_BYTES: Final = 1 << 13
_SAVING: Final = 0.97
"""A stretch that compresses to more than this share is stored as it is, because it is read faster."""
_END: Final = struct.Struct("<Q")
_REFERS: Final = 1 << 31
"""Set beside the number of stretches when the last block lists the payload files that are referred to."""


class Index(NamedTuple):
    """What is known of a segment without reading its blocks.

    ``columns`` is the sparse index as a sealed segment writes it. ``size`` is in bytes of user data, ``next``
    is the number after the last record, ``last_arrival`` in milliseconds since the epoch.
    """

    columns: bytes
    size: int
    next: int
    last_arrival: int


class Shared(Protocol):
    """The payload files that packed files refer to."""

    def read(self, file: int, start: int, length: int, /) -> bytes:
        """Raises ``DamagedLogError``."""

    def release(self, files: Iterable[int], gone: Path | None = None, /) -> None: ...


class PackedStorage:
    """``Storage`` over a packed file. It is open only while it is read, and nothing can be appended.

    ``files`` are the numbers of the payload files that it refers to; ``shared`` reads them.
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
        """Open ``path`` and return its storage and its index. Raises ``DamagedLogError``."""
        with path.open("rb") as file:
            end = os.fstat(file.fileno()).st_size - _END.size
            if end < HEADER_BYTES:
                raise DamagedLogError(path, 0, "the file is too short to be a compressed segment")
            (position,) = _END.unpack(os.pread(file.fileno(), _END.size, end))
            if position > end - HEADER_BYTES:
                raise DamagedLogError(path, end, "the place of the last block is not in the file")
            found, raw = _block(file.fileno(), path, position)
        if found.end != end:
            raise DamagedLogError(path, position, "the last block is not where the file says")
        payload = decompress(raw)
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
        # Most reads lie within one stretch: they need no list and no join.
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
        """Do nothing: the file was flushed to disk before it got its name."""

    def close(self) -> None:
        """Do nothing: no file is open."""

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)
        if self._shared is not None:
            self._shared.release(self.files, self.path)


class PackedFile:
    """A packed file while it is written. It is a draft until ``finish``. Every method raises OSError."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._draft = target.with_suffix(f"{target.suffix}{DRAFT}")
        self._file = open(self._draft, "wb", opener=_private)  # noqa: SIM115 -- closed by finish or discard
        self._stretches = array("Q")
        self._end = 0

    def add(self, stretch: bytes) -> None:
        """Add the next stretch: 256 KiB, or less at the end."""
        if _saves_little(stretch):
            self._add(stretch, len(stretch), _AS_IT_IS)
        else:
            self._add(compress(stretch, _LEVEL), len(stretch), _COMPRESSED)

    def add_spliced(self, encoded: bytes, size: int) -> None:
        """Add the next stretch of ``size`` bytes as a ``Splice`` encodes it."""
        self._add(compress(encoded, _LEVEL), size, _SPLICED)

    def finish(
        self, index: Index, files: tuple[int, ...] = (), shared: Shared | None = None
    ) -> PackedStorage:
        """Write the last block and give the file its name. It survives loss of power when this returns."""
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
        self._file.close()
        put_in_place(self._draft, self._target)
        sync_names(self._target)
        return PackedStorage(self._target, self._end, self._stretches, files, shared)

    def discard(self) -> None:
        """Remove the file and its draft."""
        # Closing writes what is buffered, and the disk may be full.
        with suppress(OSError):
            self._file.close()
        for path in (self._draft, self._target):
            path.unlink(missing_ok=True)

    def _add(self, payload: bytes, size: int, lines: int) -> None:
        number = len(self._stretches)
        self._stretches.append(self._file.tell())
        self._file.write(frames.header(payload, lines=lines, size=size, ordinal=number) + payload)
        self._end += size


def blocks_of(path: Path) -> Iterator[int]:
    """Yield the size of every block of a packed file that matches its checksum.

    Nothing is decompressed. Raises ``DamagedLogError`` for the first that does not, and OSError.
    """
    with path.open("rb") as file:
        position, end = 0, os.fstat(file.fileno()).st_size - _END.size
        while position < end:
            frame, payload = _block(file.fileno(), path, position)
            yield len(payload)
            position = frame.end


def whole_stretch(frame: Frame, payload: bytes, read: Read) -> bytes:
    """The stretch in a block of a packed file. Raises what ``read`` raises."""
    if frame.lines == _AS_IT_IS:
        return payload
    inflated = decompress(payload)
    return render(inflated, read) if frame.lines == _SPLICED else inflated


def _saves_little(stretch: bytes) -> bool:
    """Whether compressing saves little, judged by three samples: from the start, the middle and the end."""
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
    """Return the segment files in ``directory``, packed or not, the oldest first.

    Drafts and packed files beside an unpacked one are removed first: a process that died while it packed
    left them, and the unpacked file is still complete.
    """
    there = sorted(directory.iterdir()) if directory.is_dir() else []
    unpacked = {path.stem for path in there if path.suffix == ".log"}
    packed = {path.stem for path in there if path.suffix == SUFFIX} - unpacked
    found: list[Path] = []
    for path in there:
        if path.suffix == ".log" or (path.suffix == SUFFIX and path.stem in packed):
            found.append(path)
        elif path.suffix in (DRAFT, SUFFIX) or (path.suffix == ".index" and path.stem in packed):
            path.unlink()
    return found


@lru_cache(maxsize=_STRETCHES_KEPT)
def _stretch(storage: PackedStorage, number: int) -> bytes:
    """A decompressed stretch. The last eight are kept: a reader's next read is mostly in the same stretch."""
    return storage.stretch(number)


def _block(descriptor: int, path: Path, position: int) -> tuple[Frame, bytes]:
    frame = frames.parse(os.pread(descriptor, HEADER_BYTES, position), position)
    if frame is None:
        raise DamagedLogError(path, position, "the header of a compressed block does not match its checksum")
    payload = os.pread(descriptor, frame.length, frame.start)
    if crc32(payload) != frame.check:
        raise DamagedLogError(path, position, "a compressed block does not match its checksum")
    return frame, payload
