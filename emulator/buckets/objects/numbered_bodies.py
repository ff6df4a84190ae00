"""Bodies of objects that end with the process, in pieces with numbers, by which a snapshot names them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from weakref import WeakValueDictionary

from emulator.buckets.objects.kept_bodies import PieceId
from emulator.buckets.objects.object_bodies import Bodies, Chunk


class NumberedPiece:
    """A piece of a body. Its bytes are kept as long as this object lives."""

    __slots__ = ("__weakref__", "_chunk", "id")

    def __init__(self, chunk: Chunk, number: int) -> None:
        self._chunk = chunk
        self.id = PieceId(number, chunk.size, 0)

    @property
    def size(self) -> int:
        """How many bytes of the body it has."""
        return self.id.size

    def read(self) -> bytes:
        """Read its bytes. Raises OSError when they are not those that were kept."""
        return self._chunk.read()


class NumberedBodies:
    """The pieces in a ``Bodies`` of their own, with the methods of ``KeptBodies``. Thread-safe."""

    def __init__(self) -> None:
        self._bodies = Bodies()
        self._pieces: WeakValueDictionary[int, NumberedPiece] = WeakValueDictionary()
        self._loaded: list[NumberedPiece] = []
        self._last = 0

    def keep(self, data: bytes | memoryview) -> NumberedPiece:
        """Keep a piece of a body. Raises OSError."""
        self._last += 1
        return self._add(self._last, data)

    def put_back(self, pieces: Iterable[tuple[PieceId, bytes | memoryview]]) -> None:
        """Keep copied pieces, under their numbers, until ``keep_only``. Raises OSError."""
        for piece, data in pieces:
            self._loaded.append(self._add(piece.number, data))
            self._last = max(self._last, piece.number)

    def list_pieces(self) -> Iterator[tuple[PieceId, bytes]]:
        """Yield every piece in use, with its bytes. Raises OSError."""
        for piece in tuple(self._pieces.values()):
            yield piece.id, piece.read()

    def find(self, piece: PieceId) -> NumberedPiece:
        return self._pieces[piece.number]

    def keep_only(self, _pieces: Iterable[int]) -> None:
        """Drop the copied pieces that nothing refers to."""
        self._loaded.clear()

    def sync(self) -> None:
        """Do nothing: it does not outlive the process."""

    def settle(self) -> None:
        """Do nothing: a piece that nothing refers to is gone already."""

    def clear(self) -> None:
        """Drop every copied piece that nothing refers to."""
        self._loaded.clear()

    def close(self) -> None:
        """Give the space back. Nothing can be read afterwards."""
        self._bodies.close()

    def _add(self, number: int, data: bytes | memoryview) -> NumberedPiece:
        piece = self._pieces[number] = NumberedPiece(self._bodies.keep(data), number)
        return piece
