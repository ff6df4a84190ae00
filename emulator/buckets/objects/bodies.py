"""Bodies of objects: on disk in pieces, compressed where that saves something, without a file for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from isal.isal_zlib import compress, decompress

from emulator.buckets.objects.sharing import Sharing
from emulator.buckets.objects.volumes import Place, Stored, Volumes
from emulator.journal import DamagedLogError
from emulator.journal.payloads import Payloads
from emulator.journal.spliced import Find, no_payloads, render

_CHUNK_BYTES: Final = 1 << 20
_VOLUME_BYTES: Final = 64 << 20
_LEVEL: Final = 2


class Chunk:
    """A piece of a body; kept for as long as anything refers to it."""

    __slots__ = ("_bodies", "_place")

    def __init__(self, bodies: Bodies, place: Place) -> None:
        self._bodies = bodies
        self._place = place

    @property
    def size(self) -> int:
        """How many bytes of the body it is."""
        return self._place.size

    def read(self) -> bytes:
        """Its bytes. OSError when they are not those that were kept."""
        return self._bodies.read(self._place)

    def __del__(self) -> None:
        self._bodies.release(self._place)


class Bodies:
    """Bodies in files without a name in ``directory``, by default where temporary files are. Thread-safe.

    A file takes ``volume_bytes``, or a part of all there is where that is more. What ``find`` finds in a body
    is kept once more only until it is in a file of ``payloads``.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        volume_bytes: int = _VOLUME_BYTES,
        payloads: Payloads | None = None,
        find: Find = no_payloads,
    ) -> None:
        self._payloads = payloads
        self._sharing = Sharing(self, payloads, find) if payloads is not None else None
        let_go = self._sharing.let_go if self._sharing is not None else None
        self._volumes = Volumes(directory, volume_bytes, let_go)

    @property
    def stored_bytes(self) -> int:
        """What they take on disk, but for what they share."""
        return self._volumes.stored_bytes

    def keep(self, data: bytes | memoryview) -> Chunk:
        """Keep a piece of a body. Raises OSError."""
        packed = compress(data, _LEVEL)
        place = self._volumes.add(packed if len(packed) < len(data) else bytes(data), len(data))
        if self._sharing is not None:
            self._sharing.look_at(place)
        return Chunk(self, place)

    def read(self, place: Place) -> bytes:
        """The bytes at a place. OSError when they are not those that were kept."""
        while True:
            stored = self._volumes.read(place)
            try:
                return self._whole(place, stored)
            except DamagedLogError as error:
                # Where it lies otherwise by now, what it referred to may be gone.
                if place.files == stored.files:
                    raise OSError(str(error)) from error

    def splice(self, place: Place, encoded: bytes, files: tuple[int, ...]) -> bool:
        """Have a place refer to payload files if that takes less room; whether it does. Raises OSError."""
        return self._volumes.replace(place, Stored(compress(encoded, _LEVEL), files))

    def release(self, place: Place) -> None:
        """Nobody needs this place any more."""
        self._volumes.release(place)

    def close(self) -> None:
        """Give the space back; nothing can be read afterwards."""
        if self._sharing is not None:
            self._sharing.close()
        self._volumes.close()

    def _whole(self, place: Place, stored: Stored) -> bytes:
        if stored.files:
            assert self._payloads is not None
            return render(decompress(stored.raw), self._payloads.read)
        return stored.raw if len(stored.raw) == place.size else decompress(stored.raw)


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
