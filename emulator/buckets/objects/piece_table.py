"""Where the pieces of bodies are, by their numbers, in 24 bytes for each."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

_PAGE: Final = 64
"""Pieces in one array. The array goes with the last of them."""
_FIELDS: Final = 3
_NONE: Final = -1


class PieceId(NamedTuple):
    """The number of a piece, how many bytes of the body it has, and the checksum of its first stored form."""

    number: int
    size: int
    check: int


class PiecePlace(NamedTuple):
    """The number of a file, the position in it, and the length there in bytes."""

    file: int
    position: int
    length: int


class PieceTable:
    """The places of pieces whose numbers are mostly neighbours. Not thread-safe."""

    def __init__(self) -> None:
        self._pages: dict[int, array[int]] = {}

    def put(self, number: int, place: PiecePlace) -> None:
        """Note where a piece is now."""
        page, at = divmod(number, _PAGE)
        if page not in self._pages:
            self._pages[page] = array("q", [_NONE]) * (_PAGE * _FIELDS)
        self._pages[page][at * _FIELDS : (at + 1) * _FIELDS] = array("q", place)

    def find(self, number: int) -> PiecePlace | None:
        """Where a piece is; None when it is not known."""
        page, at = divmod(number, _PAGE)
        found = self._pages.get(page)
        if found is None or found[at * _FIELDS] == _NONE:
            return None
        return PiecePlace(*found[at * _FIELDS : (at + 1) * _FIELDS])

    def take(self, number: int) -> PiecePlace | None:
        """Forget a piece, and return where it was."""
        place = self.find(number)
        if place is not None:
            page, at = divmod(number, _PAGE)
            found = self._pages[page]
            found[at * _FIELDS : (at + 1) * _FIELDS] = array("q", [_NONE]) * _FIELDS
            if found.count(_NONE) == len(found):
                del self._pages[page]
        return place

    def numbers(self, file: int | None = None) -> Iterator[int]:
        """The numbers of all pieces, or of those in one file. Nothing may be put or taken meanwhile."""
        for page, found in self._pages.items():
            files = found[::_FIELDS]
            if file is None or file in files:
                places = (at for at, each in enumerate(files) if each != _NONE and file in (None, each))
                yield from (page * _PAGE + at for at in places)
