"""Bodies of objects, on disk in pieces. Pieces are compressed if that saves room, and share few files."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from isal.isal_zlib import compress, decompress

from emulator.buckets.objects.sharing import Sharing
from emulator.buckets.objects.volumes import StoredPiece, StoredPlace, Volumes
from emulator.journal import DamagedLogError
from emulator.journal.payloads import Payloads
from emulator.journal.spliced import Find, no_payloads, render

_CHUNK_BYTES: Final = 2 << 20
_VOLUME_BYTES: Final = 64 << 20
_LEVEL: Final = 2
answering: ContextVar[bool] = ContextVar("answering", default=False)
"""Whether an object is read to be sent, so that its contents can be read piece by piece meanwhile."""


class Chunk:
    """A piece of a body. Its bytes are kept as long as this object lives."""

    __slots__ = ("_bodies", "_place")

    def __init__(self, bodies: Bodies, place: StoredPlace) -> None:
        self._bodies = bodies
        self._place = place

    @property
    def size(self) -> int:
        """How many bytes of the body it has."""
        return self._place.size

    def read(self) -> bytes:
        """Read its bytes. Raises OSError when they are not those that were kept."""
        return self._bodies.read(self._place)

    def __del__(self) -> None:
        self._bodies.release(self._place)


class Bodies:
    """Bodies in unnamed files in ``directory``, by default where temporary files are. Thread-safe.

    A file takes ``volume_bytes``, or a part of all that is stored if that is more. The payloads that ``find``
    finds in a body are replaced by references once a file of ``payloads`` has them.
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
        """The bytes that they take on disk, without those in payload files."""
        return self._volumes.stored_bytes

    def keep(self, data: bytes | memoryview) -> Chunk:
        """Keep a piece of a body. Raises OSError."""
        packed = compress(data, _LEVEL)
        place = self._volumes.add(packed if len(packed) < len(data) else bytes(data), len(data))
        if self._sharing is not None:
            self._sharing.look_at(place)
        return Chunk(self, place)

    def read(self, place: StoredPlace) -> bytes:
        """Read the bytes at a place. Raises OSError when they are not those that were kept."""
        while True:
            stored = self._volumes.read(place)
            try:
                if stored.files:
                    assert self._payloads is not None
                    return render(decompress(stored.raw), self._payloads.read)
                return stored.raw if len(stored.raw) == place.size else decompress(stored.raw)
            except DamagedLogError as error:
                # If the place was changed meanwhile, the payload file that it referred to may be gone, and
                # its new form can be read. Otherwise the data is damaged.
                if place.files == stored.files:
                    raise OSError(str(error)) from error

    def splice(self, place: StoredPlace, encoded: bytes, files: tuple[int, ...]) -> bool:
        """Store a place with references to payload files if that is shorter; return whether it is.

        Raises OSError.
        """
        return self._volumes.replace(place, StoredPiece(compress(encoded, _LEVEL), files))

    def release(self, place: StoredPlace) -> None:
        """Release a place that is no longer needed."""
        self._volumes.release(place)

    def close(self) -> None:
        """Give the space back. Nothing can be read afterwards."""
        if self._sharing is not None:
            self._sharing.close()
        self._volumes.close()


class Piece(Protocol):
    """A piece of a body, wherever it is stored."""

    @property
    def size(self) -> int: ...
    def read(self) -> bytes: ...


class Store(Protocol):
    """Where the pieces of a body are stored."""

    def keep(self, data: memoryview, /) -> Piece: ...


Pieces: TypeAlias = tuple[Piece, ...]


class BodyContents:
    """The bytes of a body from ``start`` to before ``end``, read a piece at a time.

    They stay readable when the object is changed or deleted meanwhile.
    """

    def __init__(self, chunks: Pieces, start: int, end: int) -> None:
        self._chunks = chunks
        self._start = start
        self._end = max(start, end)

    def __len__(self) -> int:
        return self._end - self._start

    def __getitem__(self, part: slice) -> BodyContents:
        start, stop, _ = part.indices(len(self))
        return BodyContents(self._chunks, self._start + start, self._start + stop)

    def __iter__(self) -> Iterator[bytes]:
        at = 0
        for chunk in self._chunks:
            begin, end = max(self._start - at, 0), min(self._end - at, chunk.size)
            if begin < end:
                yield chunk.read()[begin:end]
            at += chunk.size


class Body:
    """One body, with the part of a temporary file's interface that moto uses."""

    __slots__ = ("_at", "_chunks", "closed", "store")

    def __init__(self, store: Store, pieces: Pieces = ()) -> None:
        self.store = store
        self._chunks = pieces
        self._at = 0
        self.closed = False

    @property
    def pieces(self) -> Pieces:
        """The pieces that it consists of, in their order."""
        return self._chunks

    @property
    def size(self) -> int:
        """How many bytes it has."""
        # Of most bodies there is one piece. A sum would be another number in memory, equal to the piece's.
        return self._chunks[0].size if len(self._chunks) == 1 else sum(piece.size for piece in self._chunks)

    def contents(self) -> BodyContents:
        """All of it, to be read later."""
        return BodyContents(self._chunks, 0, self.size)

    def whole(self) -> bytes:
        """All of it. Raises OSError when it is damaged, ValueError when the object was deleted."""
        if self.closed:
            raise ValueError("the object was deleted")
        return b"".join(self.contents())

    def write(self, data: bytes) -> int:
        """Add ``data`` at the end. Raises OSError."""
        view = memoryview(data)
        kept = tuple(
            self.store.keep(view[start : start + _CHUNK_BYTES]) for start in range(0, len(view), _CHUNK_BYTES)
        )
        self._chunks += kept
        self._at = self.size
        return len(view)

    def read(self, most: int = -1) -> bytes:
        """Read up to ``most`` bytes from the position on. Raises OSError when they are damaged."""
        if self.closed:
            raise ValueError("the object was deleted")
        end = self.size if most < 0 else min(self.size, self._at + most)
        found = b"".join(self.contents()[self._at : end])
        self._at = end
        return found

    def seek(self, position: int) -> int:
        self._at = position
        return position

    def truncate(self) -> int:
        """Remove the bytes after the position, which must be the beginning."""
        assert self._at == 0
        self._chunks = ()
        return 0

    def close(self) -> None:
        self._chunks, self.closed = (), True
