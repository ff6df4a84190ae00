"""The form of a tape file: the frames of the journal, with a mark in front and an index by time at the end.

    +--------+------+--------+---------+--------+---------+-- --+--------+-------+-------------+
    | header | mark | header | block 0 | header | block 1 | ... | header | index | position of |
    |        | JSON |        |         |        |         |     |        |       | index       |
    +--------+------+--------+---------+--------+---------+-- --+--------+-------+-------------+

A block is compressed. It holds entries (``rdss_sandbox.shapes.tape``) as one array of MessagePack, in the
order of their times. Its header (``emulator/journal/frames.py``) has the CRCs, how many entries it holds
(``lines``), the bytes of their messages (``size``), the number of its first entry (``ordinal``) and the time
of that in ms (``arrival``). Mark and index have no lines. A tape whose recorder was killed has no index:
the headers tell the same.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, cast
from zlib import compress

import msgspec
from isal.isal_zlib import IsalError, decompressobj

from emulator.journal import frames
from emulator.journal.frames import Frame
from rdss_sandbox.shapes.tape import TapeEntry, TapeMark
from rdss_sandbox.text.timestamps import LATEST, timestamp

FORMAT: Final = 1
SUFFIX: Final = ".tape"
BLOCK_BYTES: Final = 1 << 18
"""A block is written when its entries have so many bytes. Larger ones would hardly be smaller on the disk."""
POSITION: Final = struct.Struct("<Q")
_COUNT: Final = struct.Struct(">BI")
_ARRAY_32: Final = 0xDD
"""How MessagePack begins an array whose length has 32 bits."""
_LEVEL: Final = 6
"""Of zlib, which is slower than isal and takes a tenth less room: a recorder has the time."""
_MOST_BYTES: Final = 1 << 28
"""A block that inflates to more was not written by a recorder."""
_BadDataError: Final = cast("type[Exception]", IsalError)  # its stub takes it for an instance
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[TapeEntry]).decode
_decode_one: Final = msgspec.msgpack.Decoder(TapeEntry).decode
_split: Final = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
_read_mark: Final = msgspec.json.Decoder(TapeMark).decode


class IndexedBlock(NamedTuple):
    """A block of the index: where its header is, and the time of its first entry (ms) and their number."""

    position: int
    first: int
    entries: int


class TapeIndex(NamedTuple):
    """The blocks of a tape, and the time of its last entry in ms."""

    blocks: tuple[IndexedBlock, ...]
    last: int

    def check(self) -> TapeIndex:
        """Return it. Raises ValueError for a time that no recorder wrote."""
        if max(self.last, *(each.first for each in self.blocks), 0) > LATEST * 1000:
            raise ValueError(f"it has an entry of after {timestamp(LATEST)}")
        return self


def pack_mark(mark: TapeMark) -> bytes:
    payload = msgspec.json.encode(mark)
    return frames.header(payload, lines=0) + payload


def unpack_mark(payload: bytes) -> TapeMark:
    """Raises ``msgspec.MsgspecError`` for what is no mark."""
    return _read_mark(payload)


def pack_entry(entry: TapeEntry) -> bytes:
    return _encode(entry)


def join_array(encoded: Sequence[bytes]) -> bytes:
    """Make an array of MessagePack of its items: cheaper than to encode it whole, if they are long."""
    return b"".join((begin_array(len(encoded)), *encoded))


def begin_array(count: int) -> bytes:
    """What comes before the items of an array of MessagePack."""
    return _COUNT.pack(_ARRAY_32, count)


def pack_block(encoded: Sequence[bytes], *, size: int, ordinal: int, first: int) -> bytes:
    """Make a block of encoded entries. Their messages have ``size`` bytes, the first came at ``first`` ms."""
    payload = compress(join_array(encoded), _LEVEL)
    return frames.header(payload, lines=len(encoded), size=size, ordinal=ordinal, arrival=first) + payload


def unpack_block(payload: bytes) -> tuple[list[TapeEntry], int]:
    """Give the entries of a block, and how many of a kind are left out that this version does not know.

    Raises ValueError for what is no block.
    """
    raw = _inflate(payload)
    try:
        return _decode(raw), 0
    except msgspec.ValidationError:
        found = []
        parts = _split(raw)
        for part in parts:
            try:
                found.append(_decode_one(part))
            except msgspec.ValidationError:
                continue
        return found, len(parts) - len(found)


def pack_index(index: TapeIndex, position: int, entries: int) -> bytes:
    """Make the end of a tape of so many ``entries``, to be written at ``position``."""
    columns = (array("Q", column).tobytes() for column in zip(*index.blocks, strict=True))
    payload = compress(b"".join(columns), _LEVEL)
    top = frames.header(payload, lines=0, ordinal=entries, arrival=index.last)
    return top + payload + POSITION.pack(position)


def unpack_index(frame: Frame, payload: bytes) -> TapeIndex:
    """Raises ValueError for what is no index."""
    columns = array("Q")
    columns.frombytes(_inflate(payload))
    third = len(columns) // 3
    rows = zip(columns[:third], columns[third : 2 * third], columns[2 * third :], strict=True)
    return TapeIndex(tuple(IndexedBlock(*row) for row in rows), frame.arrival).check()


def index_frames(found: Iterable[Frame]) -> tuple[IndexedBlock, ...]:
    """What an index would say of the frames that were found in a tape that has none."""
    return tuple(IndexedBlock(each.position, each.arrival, each.lines) for each in found if each.lines)


def _inflate(payload: bytes) -> bytes:
    inflating = decompressobj()
    try:
        raw: bytes = inflating.decompress(payload, _MOST_BYTES)
    except _BadDataError as error:
        raise ValueError(str(error)) from error
    if not inflating.eof:
        raise ValueError("the block is not complete")
    return raw
