"""The ``aws-chunked`` content encoding, in which SDKs sign a body piece by piece, taken off again.

A chunk is ``<length in hex>;chunk-signature=<64 digits>``, CR LF, the data,
CR LF; the last has length 0, and trailing headers may follow it. The
signatures hang on the request's own, so they are worth nothing once that is
signed anew.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

_LONGEST_HEAD = 4096


class ChunkError(ValueError):
    """A body that says it is aws-chunked and is not."""


async def unframed(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data in the chunks. Raises ChunkError."""
    held = bytearray()
    left = 0
    head_next = True
    async for piece in pieces:
        held += piece
        while held:
            if head_next:
                end = held.find(b"\r\n")
                if end < 0:
                    if len(held) > _LONGEST_HEAD:
                        raise ChunkError("a chunk's head is too long")
                    break
                left = _length(bytes(held[:end]))
                del held[: end + 2]
                if left == 0:
                    async for _ in pieces:
                        pass
                    return
                left += 2
                head_next = False
            data = bytes(held[: max(0, min(left - 2, len(held)))])
            if data:
                yield data
            taken = min(left, len(held))
            del held[:taken]
            left -= taken
            head_next = left == 0
    raise ChunkError("the body ends before its last chunk")


def _length(head: bytes) -> int:
    try:
        return int(head.partition(b";")[0], 16)
    except ValueError:
        raise ChunkError(f"a chunk begins with {head[:40]!r}, not with its length") from None
