"""Decoding the ``aws-chunked`` content encoding, in which SDKs sign a body piece by piece.

A chunk is ``<length in hex>;chunk-signature=<64 digits>``, CR LF, the data, CR LF. The last chunk has length
0, and trailing headers may follow it. The chunks' signatures depend on the request's, so they are useless
once the request is signed again.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

_LONGEST_HEAD = 4096
_HEX = re.compile(rb"[0-9A-Fa-f]{1,16}")


class ChunkError(ValueError):
    """A body is not aws-chunked, although its headers say so."""


class Unframing:
    """Decodes a body as it arrives. ``ended`` says whether the last chunk has come."""

    def __init__(self) -> None:
        self.ended = False
        self._held = bytearray()
        self._left = 0

    @property
    def trailers(self) -> dict[bytes, bytes]:
        """The headers after the last chunk, by name in lower case."""
        lines = (line.partition(b":") for line in bytes(self._held).split(b"\r\n")) if self.ended else ()
        return {name.strip().lower(): value.strip() for name, colon, value in lines if colon}

    def data(self, piece: bytes) -> bytes:
        """Decode ``piece`` and return its data. Raises ChunkError."""
        self._held += piece
        found = bytearray()
        while self._held and not self.ended and (self._left or self._begin_chunk()):
            taken = self._held[: self._left]
            # ``_left`` counts the CR LF after the data too: those two bytes are not data.
            found += taken[: max(0, self._left - 2)]
            del self._held[: len(taken)]
            self._left -= len(taken)
        if len(self._held) > _LONGEST_HEAD:
            raise ChunkError("a chunk's head is too long")
        return bytes(found)

    def end(self) -> None:
        """Raise ChunkError when the body ended before its last chunk."""
        if not self.ended:
            raise ChunkError("the body ends before its last chunk")

    def _begin_chunk(self) -> bool:
        """Read a chunk's head, if it is complete. Returns whether data of that chunk follows."""
        end = self._held.find(b"\r\n")
        if end < 0:
            return False
        head = bytes(self._held[:end])
        size = head.partition(b";")[0]
        if not _HEX.fullmatch(size):
            raise ChunkError(f"a chunk begins with {head[:40]!r}, not with its length")
        length = int(size, 16)
        del self._held[: end + 2]
        self.ended = length == 0
        self._left = 0 if self.ended else length + 2
        return not self.ended


async def unframed(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of a body that arrives in ``pieces``. Raises ChunkError."""
    unframing = Unframing()
    async for piece in pieces:
        if data := unframing.data(piece):
            yield data
    unframing.end()
