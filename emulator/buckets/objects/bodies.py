"""Bodies of objects: on disk in pieces, compressed where that saves something, without a file for each.

The files have no name, so that nothing is left of them when the process ends, however it ends. They are few
however many bodies there are, and a file of which little is needed any more is emptied into another.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, TypeAlias

from isal.isal_zlib import compress, crc32, decompress

from emulator.journal import frames
from emulator.machine.private_files import make_directory

_CHUNK_BYTES: Final = 1 << 20
_VOLUME_BYTES: Final = 64 << 20
_VOLUMES: Final = 16
"""How many files there are at most, more or less: a new one takes its part of all there is."""
_LEVEL: Final = 2
_NEEDED_SHARE: Final = 0.25


class _Place:
    """Where the bytes of a chunk lie; it moves when its volume is emptied."""

    __slots__ = ("check", "length", "offset", "volume")

    def __init__(self, volume: _Volume, offset: int, stored: bytes) -> None:
        self.volume = volume
        self.offset = offset
        self.length = len(stored)
        self.check = crc32(stored)


class Chunk:
    """A piece of a body, ``size`` bytes of it; kept for as long as anything refers to it."""

    __slots__ = ("_bodies", "_place", "size")

    def __init__(self, bodies: Bodies, place: _Place, size: int) -> None:
        self._bodies = bodies
        self._place = place
        self.size = size

    def read(self) -> bytes:
        """Its bytes. OSError when they are not those that were kept."""
        stored = self._bodies.stored(self._place)
        return stored if len(stored) == self.size else decompress(stored)

    def __del__(self) -> None:
        self._bodies.release(self._place)


class _Volume:
    """One of the files; ``places`` are those in it that are needed."""

    def __init__(self, directory: Path | None, room: int) -> None:
        if directory is not None:
            make_directory(directory)
        self.file: IO[bytes] = TemporaryFile(buffering=0, prefix="rdss-sandbox-", dir=directory)  # noqa: SIM115
        self.room = room
        self.end = 0
        self.needed = 0
        self.places: set[_Place] = set()

    def add(self, stored: bytes) -> _Place:
        """Write a chunk at the end. OSError leaves nothing of it behind."""
        place = _Place(self, self.end, stored)
        self.end = frames.write_all(self.file.fileno(), [stored], self.end)
        self._count(place)
        return place

    def take(self, place: _Place) -> None:
        """Have a chunk of another volume here from now on."""
        stored = os.pread(place.volume.file.fileno(), place.length, place.offset)
        self.end = frames.write_all(self.file.fileno(), [stored], self.end)
        place.volume, place.offset = self, self.end - place.length
        self._count(place)

    def _count(self, place: _Place) -> None:
        self.places.add(place)
        self.needed += place.length


class Bodies:
    """Bodies in files without a name in ``directory``, by default where temporary files are. Thread-safe.

    A file takes ``volume_bytes``, or a part of all there is where that is more.
    """

    def __init__(self, directory: Path | None = None, *, volume_bytes: int = _VOLUME_BYTES) -> None:
        self._directory = directory
        self._volume_bytes = volume_bytes
        self._volumes: list[_Volume] = []
        self._released: deque[_Place] = deque()
        self._lock = threading.Lock()

    @property
    def stored_bytes(self) -> int:
        """What they take on disk."""
        with self._lock:
            return sum(volume.end for volume in self._volumes)

    def keep(self, data: bytes | memoryview) -> Chunk:
        """Keep a piece of a body. Raises OSError."""
        packed = compress(data, _LEVEL)
        stored = packed if len(packed) < len(data) else bytes(data)
        with self._lock:
            self._settle()
            return Chunk(self, self._with_room().add(stored), len(data))

    def stored(self, place: _Place) -> bytes:
        """The bytes at a place as they lie there. OSError when they are not those that were kept."""
        with self._lock:
            stored = os.pread(place.volume.file.fileno(), place.length, place.offset)
        if crc32(stored) != place.check:
            raise OSError(f"the stored bytes of an object are damaged at byte {place.offset} of their file")
        return stored

    def release(self, place: _Place) -> None:
        """Nobody needs this place any more. Whatever holds the lock may be what lets go: that settles it."""
        self._released.append(place)
        if self._lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._lock.release()

    def close(self) -> None:
        """Give the space back; nothing can be read afterwards."""
        with self._lock:
            for volume in self._volumes:
                volume.file.close()
            self._volumes.clear()

    def _with_room(self) -> _Volume:
        if not self._volumes or self._volumes[-1].end >= self._volumes[-1].room:
            room = max(self._volume_bytes, sum(volume.end for volume in self._volumes) // _VOLUMES)
            self._volumes.append(_Volume(self._directory, room))
        return self._volumes[-1]

    def _settle(self) -> None:
        while self._released:
            place = self._released.popleft()
            volume = place.volume
            volume.places.discard(place)
            volume.needed -= place.length
            if volume not in self._volumes:
                continue
            if not volume.needed or (
                volume is not self._volumes[-1] and volume.needed < _NEEDED_SHARE * volume.end
            ):
                self._empty(volume)

    def _empty(self, volume: _Volume) -> None:
        self._volumes.remove(volume)
        for place in volume.places:
            self._with_room().take(place)
        volume.file.close()


Pieces: TypeAlias = tuple[Chunk, ...]


class Contents:
    """Bytes of a body from ``start`` to before ``end``, read a piece at a time, whatever becomes of it."""

    def __init__(self, chunks: Pieces, start: int, end: int) -> None:
        self._chunks = chunks
        self._start = start
        self._end = max(start, end)

    def __len__(self) -> int:
        return self._end - self._start

    def __getitem__(self, part: slice) -> Contents:
        start, stop, _ = part.indices(len(self))
        return Contents(self._chunks, self._start + start, self._start + stop)

    def __iter__(self) -> Iterator[bytes]:
        at = 0
        for chunk in self._chunks:
            begin, end = max(self._start - at, 0), min(self._end - at, chunk.size)
            if begin < end:
                yield chunk.read()[begin:end]
            at += chunk.size


class Body:
    """One body, with what a temporary file has that moto needs of it."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._chunks: Pieces = ()
        self._size = 0
        self._at = 0
        self.closed = False

    def contents(self) -> Contents:
        """All of it, to be read later."""
        return Contents(self._chunks, 0, self._size)

    def write(self, data: bytes) -> int:
        """Add ``data`` at the end. Raises OSError."""
        view = memoryview(data)
        kept = tuple(
            self._bodies.keep(view[start : start + _CHUNK_BYTES])
            for start in range(0, len(view), _CHUNK_BYTES)
        )
        self._chunks += kept
        self._size += len(view)
        self._at = self._size
        return len(view)

    def read(self, most: int = -1) -> bytes:
        """The bytes from where it is on, at most so many. OSError when they are not those that were kept."""
        if self.closed:
            raise ValueError("the object was deleted")
        end = self._size if most < 0 else min(self._size, self._at + most)
        found = b"".join(self.contents()[self._at : end])
        self._at = end
        return found

    def seek(self, position: int) -> int:
        self._at = position
        return position

    def truncate(self) -> int:
        """Forget what is behind the position; only the beginning is one here."""
        assert self._at == 0
        self._chunks, self._size = (), 0
        return 0

    def close(self) -> None:
        self._chunks, self._size, self.closed = (), 0, True
