"""The files that bodies of objects are in, in pieces.

They have no name, so that nothing is left of them when the process ends, however it ends. They are few
however many bodies there are, and a file of which little is needed any more is emptied into another.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

from isal.isal_zlib import crc32

from emulator.journal import frames
from emulator.machine.private_files import make_directory

_VOLUMES: Final = 16
"""How many files there are at most, more or less: a new one takes its part of all there is."""
_NEEDED_SHARE: Final = 0.25
_SMALL_BYTES: Final = 4 << 20
"""What is not needed of the file that is being filled may be so much."""
_WORTH: Final = 0.9


class Stored(NamedTuple):
    """What lies at a place: bytes, and the payload files that they refer to."""

    raw: bytes
    files: tuple[int, ...] = ()


class Place:
    """Where ``size`` bytes of a body lie; it moves when its volume is emptied."""

    __slots__ = ("check", "files", "length", "offset", "size", "volume")

    volume: _Volume
    offset: int
    length: int
    check: int
    files: tuple[int, ...]

    def __init__(self, size: int) -> None:
        self.size = size


class _Volume:
    """One of the files; ``places`` are those in it that are needed."""

    def __init__(self, directory: Path | None, room: int) -> None:
        if directory is not None:
            make_directory(directory)
        self.file: IO[bytes] = TemporaryFile(buffering=0, prefix="rdss-sandbox-", dir=directory)  # noqa: SIM115
        self.room = room
        self.end = 0
        self.needed = 0
        self.places: set[Place] = set()

    def put(self, place: Place, stored: Stored) -> None:
        """Write at the end what is at a place from now on. OSError leaves nothing of it behind."""
        offset = self.end
        self.end = frames.write_all(self.file.fileno(), [stored.raw], offset)
        place.volume, place.offset, place.length = self, offset, len(stored.raw)
        place.check, place.files = crc32(stored.raw), stored.files
        self.places.add(place)
        self.needed += place.length

    def read(self, place: Place) -> bytes:
        return os.pread(self.file.fileno(), place.length, place.offset)

    def forget(self, place: Place) -> None:
        """Nothing that is needed is at this place."""
        self.places.discard(place)
        self.needed -= place.length


class Volumes:
    """Places in volumes of ``volume_bytes``, or more where there is much. Thread-safe.

    What refers to payload files lies in volumes of its own: what lies otherwise is young, and goes together.
    ``let_go`` is told of payload files that a place no longer refers to, from anywhere: it must not wait.
    """

    def __init__(
        self,
        directory: Path | None,
        volume_bytes: int,
        let_go: Callable[[tuple[int, ...]], None] | None = None,
    ) -> None:
        self._directory = directory
        self._volume_bytes = volume_bytes
        self._let_go = let_go
        self._volumes: list[_Volume] = []
        self._filling: dict[bool, _Volume] = {}
        self._released: deque[Place] = deque()
        self._lock = threading.Lock()

    @property
    def stored_bytes(self) -> int:
        """What they take on disk."""
        with self._lock:
            return sum(volume.end for volume in self._volumes)

    def add(self, raw: bytes, size: int) -> Place:
        """Keep what ``size`` bytes of a body are stored as. Raises OSError."""
        place = Place(size)
        with self._lock:
            self._settle()
            self._put(place, Stored(raw))
        return place

    def read(self, place: Place) -> Stored:
        """What lies at a place. OSError when it is not what was kept."""
        with self._lock:
            stored, check = Stored(place.volume.read(place), place.files), place.check
            offset = place.offset
        if crc32(stored.raw) != check:
            raise OSError(f"the stored bytes of an object are damaged at byte {offset} of their file")
        return stored

    def replace(self, place: Place, stored: Stored) -> bool:
        """Have something shorter at a place that is needed; whether it has. Raises OSError."""
        with self._lock:
            self._settle()
            old, length, files = place.volume, place.length, place.files
            if place not in old.places or len(stored.raw) > _WORTH * length:
                return False
            self._put(place, stored)
            if old is not place.volume:
                old.places.discard(place)
            old.needed -= length
            self._empty_if_idle(old)
        if files and self._let_go is not None:
            self._let_go(files)
        return True

    def release(self, place: Place) -> None:
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
            self._filling.clear()

    def _put(self, place: Place, stored: Stored) -> None:
        kind = bool(stored.files)
        volume = self._filling.get(kind)
        if volume is None or volume.end >= volume.room:
            room = max(self._volume_bytes, sum(each.end for each in self._volumes) // _VOLUMES)
            volume = self._filling[kind] = _Volume(self._directory, room)
            self._volumes.append(volume)
        volume.put(place, stored)

    def _settle(self) -> None:
        while self._released:
            place = self._released.popleft()
            place.volume.forget(place)
            if place.files and self._let_go is not None:
                self._let_go(place.files)
            self._empty_if_idle(place.volume)

    def _empty_if_idle(self, volume: _Volume) -> None:
        """Move what is needed of a volume elsewhere if that is little of it."""
        if volume not in self._volumes:
            return
        idle = volume.needed < _NEEDED_SHARE * volume.end
        if volume.needed and (not idle or (volume in self._filling.values() and volume.end < _SMALL_BYTES)):
            return
        self._volumes.remove(volume)
        for kind in [kind for kind, filling in self._filling.items() if filling is volume]:
            del self._filling[kind]
        for place in volume.places:
            self._put(place, Stored(volume.read(place), place.files))
        volume.file.close()
