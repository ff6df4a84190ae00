"""The files ("volumes") that hold the bodies of objects, in pieces.

They have no name, so they are gone when the process ends, in whatever way. Their number stays small with any
number of bodies. When little of a file is still needed, that is moved to another file.
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
"""About the most files: a new one may grow to one part in this many of all that is stored."""
_NEEDED_SHARE: Final = 0.25
_SMALL_BYTES: Final = 4 << 20
"""The file that is being filled is not emptied below this size, however little of it is needed."""
_WORTH: Final = 0.9
"""A shorter form replaces a stored one only below this part of its length."""


class StoredPiece(NamedTuple):
    """The stored form of a piece: bytes, and the payload files that they refer to."""

    raw: bytes
    files: tuple[int, ...] = ()


class StoredPlace:
    """Where ``size`` bytes of a body are stored. It changes when its volume is emptied."""

    __slots__ = ("check", "files", "length", "offset", "size", "volume")

    volume: _Volume
    offset: int
    length: int
    check: int
    files: tuple[int, ...]

    def __init__(self, size: int) -> None:
        self.size = size


class _Volume:
    """One file. ``places`` are the needed ones in it, ``needed`` their bytes."""

    def __init__(self, directory: Path | None, room: int) -> None:
        if directory is not None:
            make_directory(directory)
        self.file: IO[bytes] = TemporaryFile(buffering=0, prefix="rdss-sandbox-", dir=directory)  # noqa: SIM115
        self.room = room
        self.end = 0
        self.needed = 0
        self.places: set[StoredPlace] = set()
        self._files: dict[tuple[int, ...], tuple[int, ...]] = {}

    def __del__(self) -> None:
        # A place that was released while the lock was held, and no call came after it, leaves the file open.
        self.file.close()

    def put(self, place: StoredPlace, stored: StoredPiece) -> None:
        """Append ``stored`` and point ``place`` at it. OSError leaves the volume as it was."""
        offset = self.end
        self.end = frames.write_all(self.file.fileno(), [stored.raw], offset)
        place.volume, place.offset, place.length = self, offset, len(stored.raw)
        # Neighbours mostly refer to the same payload files, so they share one tuple.
        place.check, place.files = crc32(stored.raw), self._files.setdefault(stored.files, stored.files)
        self.places.add(place)
        self.needed += place.length

    def read(self, place: StoredPlace) -> bytes:
        return os.pread(self.file.fileno(), place.length, place.offset)

    def forget(self, place: StoredPlace) -> None:
        """Note that a place is no longer needed."""
        self.places.discard(place)
        self.needed -= place.length


class Volumes:
    """Places in volumes of ``volume_bytes``, or more where much is stored. Thread-safe.

    Pieces that refer to payload files are in volumes of their own. The others are young and are soon
    replaced together, which frees their whole volume. ``let_go`` gets the payload files that a place no
    longer refers to. It may be called with the lock held and on any thread, so it must not block.
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
        self._released: deque[StoredPlace] = deque()
        self._lock = threading.Lock()

    @property
    def stored_bytes(self) -> int:
        """The bytes that the volumes take on disk."""
        with self._lock:
            return sum(volume.end for volume in self._volumes)

    def add(self, raw: bytes, size: int) -> StoredPlace:
        """Store ``raw``, the stored form of ``size`` bytes of a body. Raises OSError."""
        place = StoredPlace(size)
        with self._lock:
            self._settle()
            self._put(place, StoredPiece(raw))
        return place

    def read(self, place: StoredPlace) -> StoredPiece:
        """Read a place. Raises OSError when its bytes are not those that were stored."""
        with self._lock:
            stored, check = StoredPiece(place.volume.read(place), place.files), place.check
            offset = place.offset
        if crc32(stored.raw) != check:
            raise OSError(f"the stored bytes of an object are damaged at byte {offset} of their file")
        return stored

    def replace(self, place: StoredPlace, stored: StoredPiece) -> bool:
        """Replace the stored form of a place by a shorter one. Raises OSError.

        Returns False, and changes nothing, when it is hardly shorter or the place is no longer needed.
        """
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

    def release(self, place: StoredPlace) -> None:
        """Release a place. Its room is freed now, or by the next call if the lock is held.

        The garbage collector may call this on a thread that holds the lock, so it must not wait for it.
        """
        self._released.append(place)
        if self._lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._lock.release()

    def close(self) -> None:
        """Give the space back. Nothing can be read afterwards."""
        with self._lock:
            for volume in self._volumes:
                volume.file.close()
            self._volumes.clear()
            self._filling.clear()

    def _put(self, place: StoredPlace, stored: StoredPiece) -> None:
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
        """Move the needed places of a volume to another, and close it, if they are a small part of it."""
        if volume not in self._volumes:
            return
        idle = volume.needed < _NEEDED_SHARE * volume.end
        if volume.needed and (not idle or (volume in self._filling.values() and volume.end < _SMALL_BYTES)):
            return
        self._volumes.remove(volume)
        for kind in [kind for kind, filling in self._filling.items() if filling is volume]:
            del self._filling[kind]
        for place in volume.places:
            self._put(place, StoredPiece(volume.read(place), place.files))
        volume.file.close()
