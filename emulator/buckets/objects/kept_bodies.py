"""Bodies of objects that outlive the process, in files with names.

A piece that nothing refers to when the files are opened is dropped.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emulator.buckets.objects.bodies import FILE_BYTES, Bodies, BodyFile
from emulator.buckets.objects.piece_table import PiecePlace, PieceTable
from emulator.journal import DamagedLogError, frames
from emulator.journal.inventory import inventory_of, unlist
from emulator.journal.salvage import blocks
from emulator.journal.storage import FileStorage
from emulator.machine.private_files import make_directory

_PREFIX: Final = "bodies-"


class KeptBodies(Bodies):
    """The pieces in the files of ``directory``.

    A new piece survives ``kill -9`` once ``keep`` has returned, and loss of power after ``sync``. A released
    one is dropped by the next ``settle``, when no log refers to it any more. ``damage`` says which files
    were damaged when they were opened; what can be read of them is used. ``torn`` says how many bytes of
    which files were not written whole, and were cut.
    """

    def __init__(self, directory: Path, *, file_bytes: int = FILE_BYTES) -> None:
        super().__init__(directory, file_bytes=file_bytes)
        self._folder = directory
        self._waiting: deque[int] = deque()
        self._unsynced: set[BodyFile] = set()
        self.damage: list[DamagedLogError] = []
        self.torn: list[tuple[Path, int]] = []
        self._open()

    def release(self, number: int) -> None:
        """Release a piece. The garbage collector may call this at any time, so it takes no lock."""
        self._waiting.append(number)

    def settle(self) -> None:
        """Drop what was released and empty the files that are hardly needed. No log may refer to it."""
        while self._waiting:
            self._released.append(self._waiting.popleft())
        super().settle()

    def sync(self) -> None:
        """Return when every piece that was kept so far survives loss of power. Raises OSError."""
        with self._lock:
            self._sync(set(self._unsynced))

    def clear(self) -> None:
        """Drop every piece."""
        with self._lock:
            self._waiting.clear()
            self._released.clear()
            self._unsynced.clear()
            self._places = PieceTable()
            for file in tuple(self._files):
                self._delete(file)

    def _sync(self, files: set[BodyFile]) -> None:
        for file in files:
            file.storage.sync()
            self._unsynced.discard(file)

    def _append(self, number: int, size: int, stored: bytes, files: tuple[int, ...] = ()) -> BodyFile:
        file = super()._append(number, size, stored, files)
        if file.storage.end == frames.HEADER_BYTES + len(stored):
            path = Path(file.name)
            if (inventory := inventory_of(path)) is not None:
                inventory.add(path)
        self._unsynced.add(file)
        return file

    def _create_file(self, number: int, room: int) -> BodyFile:
        make_directory(self._folder)
        path = self._folder / f"{_PREFIX}{number}.log"
        return BodyFile(str(path), FileStorage(path, 0), room)

    def _stays(self, file: BodyFile) -> bool:
        # The numbers of pieces go on behind those in the last file, and must not be given again.
        return file.storage.end < file.room

    def _delete(self, number: int) -> None:
        file = self._files[number]
        self._unsynced.discard(file)
        # What was moved out of it must be on disk before it is gone.
        self._sync(set(self._unsynced))
        unlist(Path(file.name))
        super()._delete(number)

    def _open(self) -> None:
        found = ((_number(path), path) for path in self._folder.glob(f"{_PREFIX}*.log"))
        for number, path in sorted(found):
            storage = FileStorage(path, path.stat().st_size)
            self._files[number] = BodyFile(str(path), storage, self._file_bytes)
            self._filling[False] = number
            for frame in self._frames(path, storage):
                place = PiecePlace(number, frame.start, frame.length)
                self._last = max(self._last, frame.ordinal)
                # Of a piece that was being moved, loss of power may leave a part: then the old one is there.
                if self._places.find(frame.ordinal) is None or self._read_frame(place) is not None:
                    self._put(frame.ordinal, place)

    def _frames(self, path: Path, storage: FileStorage) -> Iterator[frames.Frame]:
        """The frames of a file, from their headers alone; after damage, whatever can be read."""
        position, end = 0, storage.end
        while position < end:
            frame = frames.parse(storage.read(position, frames.HEADER_BYTES), position)
            if frame is None and (end - position < frames.HEADER_BYTES or _zeros(storage, position, end)):
                break
            if frame is None:
                reason = "the header of a block does not match its checksum"
                self.damage.append(DamagedLogError(path, position, reason))
                yield from (each for each in blocks(path).kept if each.position > position)
                return
            if frame.end > end:
                break
            yield frame
            position = frame.end
        if position < end:
            self.torn.append((path, end - position))
            os.ftruncate(storage.descriptor(), position)
            storage.end = position


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
