"""Bodies of objects that outlive the process: pieces in named files, each in a frame with its number.

What refers to a piece has its number, so a piece can be moved without a change to what refers to it. A file
of which little is needed is emptied, and a piece that nothing refers to when the files are opened is dropped.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from isal.isal_zlib import compress, crc32, decompress

from emulator.buckets.objects.piece_table import PiecePlace, PieceTable
from emulator.journal import DamagedLogError, frames
from emulator.journal.inventory import inventory_of, unlist
from emulator.journal.salvage import blocks
from emulator.journal.storage import FileStorage
from emulator.machine.private_files import make_directory

_FILE_BYTES: Final = 64 << 20
_NEEDED_SHARE: Final = 0.5
_LEVEL: Final = 2
_PREFIX: Final = "bodies-"


class PieceId(NamedTuple):
    """The number of a piece, how many bytes of the body it has, and the checksum of its stored form."""

    number: int
    size: int
    check: int


class KeptPiece:
    """A piece of a body. Its bytes are kept as long as this object lives, and while a log refers to it."""

    __slots__ = ("_bodies", "_check", "_number", "size")

    def __init__(self, bodies: KeptBodies, piece: PieceId) -> None:
        self._bodies = bodies
        self._number, self.size, self._check = piece

    @property
    def id(self) -> PieceId:
        """What a log says of it. ``size`` is how many bytes of the body it has."""
        return PieceId(self._number, self.size, self._check)

    def read(self) -> bytes:
        """Read its bytes. Raises OSError when they are not those that were kept."""
        return self._bodies.read(self.id)

    def __del__(self) -> None:
        self._bodies.release(self._number)


class _BodyFile:
    """One file, and how many bytes of the pieces in it are needed."""

    def __init__(self, path: Path, end: int = 0) -> None:
        self.path = path
        self.storage = FileStorage(path, end)
        self.needed = 0


class KeptBodies:
    """The pieces in the files of ``directory``. Thread-safe.

    A new piece survives ``kill -9`` once ``keep`` has returned, and loss of power after ``sync``. A released
    one is dropped by the next ``settle``, when no log refers to it any more. ``damage`` says which files
    were damaged when they were opened; what can be read of them is used. ``torn`` says how many bytes of
    which files were not written whole, and were cut.
    """

    def __init__(self, directory: Path, *, file_bytes: int = _FILE_BYTES) -> None:
        self._directory = directory
        self._file_bytes = file_bytes
        self._lock = threading.Lock()
        self._files: dict[int, _BodyFile] = {}
        self._places = PieceTable()
        self._released: deque[int] = deque()
        self._unsynced: set[_BodyFile] = set()
        self._last = 0
        self._closed = False
        self.damage: list[DamagedLogError] = []
        self.torn: list[tuple[Path, int]] = []
        self._open()

    def keep(self, data: bytes | memoryview) -> KeptPiece:
        """Keep a piece of a body. Raises OSError."""
        packed = compress(data, _LEVEL)
        stored = packed if len(packed) < len(data) else bytes(data)
        with self._lock:
            self._last += 1
            piece = PieceId(self._last, len(data), crc32(stored))
            self._append(piece.number, piece.size, stored)
        return KeptPiece(self, piece)

    def put_back(self, pieces: Iterable[tuple[PieceId, bytes | memoryview]]) -> None:
        """Keep copied pieces, in their stored form and under their numbers. Raises OSError."""
        with self._lock:
            for piece, stored in pieces:
                self._last = max(self._last, piece.number)
                self._append(piece.number, piece.size, bytes(stored))

    def list_pieces(self) -> Iterator[tuple[PieceId, bytes]]:
        """Yield every piece in its stored form. Raises ``DamagedLogError`` and OSError."""
        with self._lock:
            for number in self._places.numbers():
                place = self._places.find(number)
                assert place is not None
                found = self._read_frame(place)
                if found is None:
                    start = place.position - frames.HEADER_BYTES
                    path = self._files[place.file].path
                    raise DamagedLogError(path, start, "a block does not match its checksum")
                yield PieceId(number, found[0].size, found[0].check), found[1]

    def find(self, piece: PieceId) -> KeptPiece:
        """The piece that a log refers to. Whether it can be read is seen when it is."""
        return KeptPiece(self, piece)

    def read(self, piece: PieceId) -> bytes:
        """Read a piece. Raises OSError when its bytes are not those that were kept."""
        with self._lock:
            place = self._places.find(piece.number)
            if place is None:
                raise OSError(
                    f"the stored bytes of an object are missing from the files in {self._directory}"
                )
            file = self._files[place.file]
            stored = file.storage.read(place.position, place.length)
        if crc32(stored) != piece.check:
            raise OSError(
                f"the stored bytes of an object are damaged at byte {place.position} of {file.path}"
            )
        return stored if place.length == piece.size else decompress(stored)

    def release(self, number: int) -> None:
        """Release a piece. The garbage collector may call this at any time, so it takes no lock."""
        self._released.append(number)

    def sync(self) -> None:
        """Return when every piece that was kept so far survives loss of power. Raises OSError."""
        with self._lock:
            while self._unsynced:
                file = next(iter(self._unsynced))
                file.storage.sync()
                self._unsynced.discard(file)

    def settle(self) -> None:
        """Drop what was released and empty the files that are hardly needed. No log may refer to it."""
        with self._lock:
            idle = set[int]()
            while self._released and not self._closed:
                idle |= self._drop(self._released.popleft())
            for file in idle:
                self._empty_if_idle(file)

    def keep_only(self, pieces: Iterable[int]) -> None:
        """Drop the pieces that nothing refers to, after the start."""
        wanted = set(pieces)
        with self._lock:
            for number in [number for number in self._places.numbers() if number not in wanted]:
                self._drop(number)
            for file in tuple(self._files):
                self._empty_if_idle(file)

    def clear(self) -> None:
        """Drop every piece."""
        with self._lock:
            self._released.clear()
            for file in tuple(self._files):
                self._delete(file)
            self._places = PieceTable()

    def close(self) -> None:
        """Close the files. What is released from now on stays in them."""
        with self._lock:
            self._closed = True
            for file in self._files.values():
                file.storage.close()

    def _append(self, number: int, size: int, stored: bytes) -> None:
        last = max(self._files, default=0)
        if not last or self._files[last].storage.end >= self._file_bytes:
            make_directory(self._directory)
            last = self._add_file()
        file = self._files[last]
        position = file.storage.end + frames.HEADER_BYTES
        first = not file.storage.end
        file.storage.append([frames.header(stored, size=size, ordinal=number), stored])
        if first and (inventory := inventory_of(file.path)) is not None:
            inventory.add(file.path)
        self._unsynced.add(file)
        self._put(number, PiecePlace(last, position, len(stored)))

    def _add_file(self) -> int:
        following = max(self._files, default=0) + 1
        self._files[following] = _BodyFile(self._directory / f"{_PREFIX}{following}.log")
        return following

    def _put(self, number: int, place: PiecePlace) -> None:
        """Note where a piece is now, in place of where it was."""
        self._drop(number)
        self._places.put(number, place)
        self._files[place.file].needed += place.length

    def _drop(self, number: int) -> set[int]:
        """Forget where a piece is. Returns the number of its file, if it is known."""
        place = self._places.take(number)
        if place is None:
            return set()
        self._files[place.file].needed -= place.length
        return {place.file}

    def _read_frame(self, place: PiecePlace) -> tuple[frames.Frame, bytes] | None:
        """A piece in its stored form, with its header; None when it is damaged."""
        start = place.position - frames.HEADER_BYTES
        raw = self._files[place.file].storage.read(start, frames.HEADER_BYTES + place.length)
        frame, stored = frames.parse(raw, start), raw[frames.HEADER_BYTES :]
        return (frame, stored) if frame is not None and crc32(stored) == frame.check else None

    def _empty_if_idle(self, number: int) -> None:
        """Move the needed pieces of a file to the last one and delete it, if they are a small part of it."""
        file, last = self._files[number], max(self._files)
        if number == last and file.storage.end < self._file_bytes:
            return
        if file.needed >= _NEEDED_SHARE * file.storage.end:
            return
        if file.needed and number == last:
            self._add_file()
        for piece in list(self._places.numbers(number)):
            place = self._places.find(piece)
            found = self._read_frame(place) if place is not None else None
            if found is None:
                # A damaged piece stays where it is, and so does its file, for sandbox repair.
                return
            self._append(piece, found[0].size, found[1])
        for moved in tuple(self._unsynced - {file}):
            moved.storage.sync()
            self._unsynced.discard(moved)
        self._delete(number)

    def _delete(self, number: int) -> None:
        file = self._files.pop(number)
        self._unsynced.discard(file)
        unlist(file.path)
        file.storage.delete()

    def _open(self) -> None:
        found = ((_number(path), path) for path in self._directory.glob(f"{_PREFIX}*.log"))
        for number, path in sorted(found):
            file = self._files[number] = _BodyFile(path, path.stat().st_size)
            for frame in self._frames(file):
                self._put(frame.ordinal, PiecePlace(number, frame.start, frame.length))
                self._last = max(self._last, frame.ordinal)

    def _frames(self, file: _BodyFile) -> Iterator[frames.Frame]:
        """The frames of a file, from their headers alone; after damage, whatever can be read."""
        position, end = 0, file.storage.end
        while position < end:
            frame = frames.parse(file.storage.read(position, frames.HEADER_BYTES), position)
            if frame is None and (
                end - position < frames.HEADER_BYTES or _zeros(file.storage, position, end)
            ):
                break
            if frame is None:
                reason = "the header of a block does not match its checksum"
                self.damage.append(DamagedLogError(file.path, position, reason))
                yield from (each for each in blocks(file.path).kept if each.position > position)
                return
            if frame.end > end:
                break
            yield frame
            position = frame.end
        if position < end:
            self.torn.append((file.path, end - position))
            os.ftruncate(file.storage.descriptor(), position)
            file.storage.end = position


def _number(path: Path) -> int:
    name = path.stem.removeprefix(_PREFIX)
    return int(name) if name.isdecimal() else 0


def _zeros(storage: FileStorage, position: int, end: int) -> bool:
    """Whether only zeros follow, as loss of power leaves them."""
    while position < end:
        piece = storage.read(position, 1 << 20)
        if piece.strip(b"\0"):
            return False
        position += len(piece)
    return True
