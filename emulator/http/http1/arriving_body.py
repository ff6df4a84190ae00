"""A request body that arrives in pieces and waits to be taken by the application."""

from __future__ import annotations

from emulator.http.asgi import NoRoomError
from emulator.http.bounds.body_memory import ARRIVING

_SMALL_BYTES = 1024
_FREE_BYTES = 1 << 16


class ArrivingBody:
    """The waiting pieces, ``held`` bytes in all. Beyond 64 KiB they count against the memory of all ports."""

    __slots__ = ("_counted", "_pieces", "held")

    def __init__(self) -> None:
        self._pieces: list[bytes | bytearray] = []
        self._counted = 0
        self.held = 0

    def add(self, piece: bytes | bytearray) -> None:
        """Add a piece. Raises NoRoomError when there is no memory for it."""
        size = len(piece)
        if self.held > _FREE_BYTES:
            if not ARRIVING.take(size):
                raise NoRoomError
            self._counted += size
        self.held += size
        if self._pieces and size < _SMALL_BYTES:
            # A tiny piece as an object of its own would take up to fifty times its size.
            if not isinstance(self._pieces[-1], bytearray):
                self._pieces.append(bytearray())
            self._pieces[-1] += piece
        else:
            self._pieces.append(piece)

    def take(self) -> bytes | bytearray:
        """Return everything in one piece. Nothing is held afterwards."""
        pieces = self._pieces
        self.clear()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def clear(self) -> None:
        self._pieces = []
        self.held = 0
        if self._counted:
            ARRIVING.give_back(self._counted)
            self._counted = 0
