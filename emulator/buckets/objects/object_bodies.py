"""The body of an object, in pieces, as moto sees it and as it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from typing import Final

from emulator.buckets.objects.bodies import Bodies, Piece

_PIECE_BYTES: Final = 2 << 20
answering: ContextVar[bool] = ContextVar("answering", default=False)
"""Whether an object is read to be sent, so that its contents can be read piece by piece meanwhile."""


class BodyContents:
    """The bytes of a body from ``start`` to before ``end``, read a piece at a time.

    They stay readable when the object is changed or deleted meanwhile.
    """

    def __init__(self, pieces: tuple[Piece, ...], start: int, end: int) -> None:
        self._pieces = pieces
        self._start = start
        self._end = max(start, end)

    def __len__(self) -> int:
        return self._end - self._start

    def __getitem__(self, part: slice) -> BodyContents:
        start, stop, _ = part.indices(len(self))
        return BodyContents(self._pieces, self._start + start, self._start + stop)

    def __iter__(self) -> Iterator[bytes]:
        at = 0
        for piece in self._pieces:
            begin, end = max(self._start - at, 0), min(self._end - at, piece.size)
            if begin < end:
                yield piece.read()[begin:end]
            at += piece.size


class Body:
    """One body, with the part of a temporary file's interface that moto uses."""

    __slots__ = ("_at", "_pieces", "closed", "store")

    def __init__(self, store: Bodies, pieces: tuple[Piece, ...] = ()) -> None:
        self.store = store
        self._pieces = pieces
        self._at = 0
        self.closed = False

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces that it consists of, in their order."""
        return self._pieces

    @property
    def size(self) -> int:
        """How many bytes it has."""
        # Of most bodies there is one piece. A sum would be another number in memory, equal to the piece's.
        return self._pieces[0].size if len(self._pieces) == 1 else sum(piece.size for piece in self._pieces)

    def contents(self) -> BodyContents:
        """All of it, to be read later."""
        return BodyContents(self._pieces, 0, self.size)

    def whole(self) -> bytes:
        """All of it. Raises OSError when it is damaged, ValueError when the object was deleted."""
        if self.closed:
            raise ValueError("the object was deleted")
        return b"".join(self.contents())

    def write(self, data: bytes) -> int:
        """Add ``data`` at the end. Raises OSError."""
        view = memoryview(data)
        kept = tuple(
            self.store.keep(view[start : start + _PIECE_BYTES]) for start in range(0, len(view), _PIECE_BYTES)
        )
        self._pieces += kept
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
        self._pieces = ()
        return 0

    def close(self) -> None:
        self._pieces, self.closed = (), True
