"""One segment of a shard: blocks of lines, and a sparse index over them that fits in memory.

0000000000000001.log     named after the number of its first record; grows while it is the last segment
+--------+--------------------+--------+--------------------+-- ...
| header | line, line, ...    | header | line, line, ...    |        a header and its lines are a block,
+--------+--------------------+--------+--------------------+-- ...  written by one append
^ ordinal 1                   ^ ordinal 3 (frames.py draws the header)

0000000000000001.index   one frame, written when the segment is full ("sealed"), so that opening
| header | ordinals | offsets | arrivals |       it needs no scan: one block in every 64 KiB
0000000000000001.packed  takes the place of both later (packed.py draws it)
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from isal.isal_zlib import crc32

from emulator.journal import frames
from emulator.journal.frames import HEADER_BYTES, DamagedLogError, Frame
from emulator.journal.packed import STRETCH_BYTES, Index, PackedStorage
from emulator.journal.payloads import payloads_of
from emulator.journal.segment_packing import pack
from emulator.journal.spliced import Find, no_payloads
from emulator.journal.storage import FileStorage, MemoryStorage, Storage
from emulator.journal.torn_tails import cut_tail, whole_frames
from rdss_sandbox.files.rewriting import rewriting

_INDEX_EVERY_BYTES = 1 << 16
_READ_BYTES = 1 << 16
_MOST_BYTES = 1 << 21


class Block(NamedTuple):
    """A copy of a block: its lines, the number of the first and when they arrived (ms).

    ``size`` is in bytes of user data.
    """

    ordinal: int
    lines: int
    size: int
    arrival: int
    payload: bytes


class Segment:
    """Blocks in the order in which they were written, from record number ``first`` to before ``next``.

    The index holds the ordinal, offset and arrival of at most one block in every 64 KiB, so ten million
    records of 1 KB take a few megabytes of it. ``size`` is in bytes of user data, ``last_arrival`` in
    milliseconds since the epoch. ``zeroed`` says that zeros were cut from its end when it was opened: there
    may have been records there.
    """

    def __init__(self, name: Path, storage: Storage, first: int) -> None:
        self.name = name
        self.storage = storage
        self.first = first
        self.next = first
        self.size = 0
        self.last_arrival = 0
        self.zeroed = False
        self._ordinals = array("Q")
        self._offsets = array("Q")
        self._arrivals = array("Q")

    @classmethod
    def in_memory(cls, first: int) -> Segment:
        """An empty segment that is never written to disk."""
        return cls(Path(f"memory/{first:016d}.log"), MemoryStorage(), first)

    @classmethod
    def create(cls, directory: Path, first: int) -> Segment:
        """An empty segment in a new file whose name is the number of its first record."""
        path = directory / f"{first:016d}.log"
        return cls(path, FileStorage(path, 0), first)

    @classmethod
    def open(cls, path: Path) -> tuple[Segment, int]:
        """Scan ``path`` and return its segment and how many bytes of a torn tail were cut.

        Raises ``DamagedLogError``.
        """
        storage = FileStorage(path, 0)
        segment = cls(path, storage, int(path.stem))
        try:
            for frame in whole_frames(storage.descriptor(), path):
                segment._note(frame)
                storage.end = frame.end
            zeros = frames.ends_in_zeros(storage.descriptor())
            torn = cut_tail(storage.descriptor(), path, storage.end)
            segment.zeroed = torn > HEADER_BYTES and zeros
        except BaseException:
            storage.close()
            raise
        return segment, torn

    @classmethod
    def open_sealed(cls, path: Path) -> Segment | None:
        """Open ``path`` by its index. Returns None when it has no index, or one that does not fit."""
        try:
            raw = path.with_suffix(".index").read_bytes()
        except FileNotFoundError:
            return None
        frame = frames.parse(raw, 0)
        payload = raw[HEADER_BYTES:]
        if frame is None or crc32(payload) != frame.check:
            return None
        segment = cls(path, FileStorage(path, path.stat().st_size), int(path.stem))
        segment._take(Index(payload, frame.size, frame.ordinal, frame.arrival))
        return segment if segment._whole() else None

    @classmethod
    def open_packed(cls, path: Path) -> Segment:
        """Open a packed file. Raises ``DamagedLogError``."""
        storage, index = PackedStorage.open(path, payloads_of(path))
        segment = cls(path, storage, int(path.stem))
        segment._take(index)
        return segment

    @property
    def first_arrival(self) -> int:
        """When its first record arrived, in ms; 0 when it has none."""
        return self._arrivals[0] if self._arrivals else 0

    @property
    def packed(self) -> bool:
        """Whether it is compressed."""
        return isinstance(self.storage, PackedStorage)

    def seal(self) -> None:
        """Write the index beside the file, so that opening it needs no scan. No append may follow."""
        if not isinstance(self.storage, FileStorage):
            return
        payload = self._index().columns
        top = frames.header(payload, size=self.size, ordinal=self.next, arrival=self.last_arrival)
        # A lost index is only built again.
        with rewriting(self.name.with_suffix(".index"), fsync=False) as draft:
            draft.write_bytes(top + payload)
        self.storage.close()

    def pack(self, find: Find = no_payloads) -> Segment:
        """Write a compressed copy of a sealed segment beside its file, for ``replace_by``. Raises OSError.

        The payloads that ``find`` finds in its lines are shared with the other packed files.
        """
        # A read decompresses a whole stretch, so one index entry in each is enough.
        kept = [
            i
            for i, offset in enumerate(self._offsets)
            if not i or offset // STRETCH_BYTES > self._offsets[i - 1] // STRETCH_BYTES
        ]
        thinned = [array("Q", [column[i] for i in kept]).tobytes() for column in self._columns()]
        index = self._index()._replace(columns=b"".join(thinned))
        storage = pack(self.name, index, find)
        packed = Segment(storage.path, storage, self.first)
        packed._take(index)
        return packed

    def replace_by(self, packed: Segment) -> None:
        """Read from the ``packed`` copy from now on, and remove the file that it was made from.

        OSError leaves that file to the next start, and the copy in use.
        """
        full = Segment(self.name, self.storage, self.first)
        self.storage, self.name = packed.storage, packed.name
        self._ordinals, self._offsets, self._arrivals = packed._columns()
        # Last: a file of which a part is gone must not be read, or made again empty.
        full.delete()

    def append(self, payload: bytes, count: int, size: int, arrival: int) -> None:
        """Add one block of ``count`` lines carrying ``size`` bytes of user data."""
        top = frames.header(payload, lines=count, size=size, ordinal=self.next, arrival=arrival)
        frame = Frame(self.storage.end, len(payload), 0, count, size, self.next, arrival)
        self.storage.append([top, payload])
        self._note(frame)

    def put_back(self, blocks: Iterable[Block]) -> None:
        """Append copied blocks, with the numbers and times that they had, in one write."""
        raw, noted = bytearray(), []
        for block in blocks:
            ordinal, lines, size, arrival, payload = block
            position = self.storage.end + len(raw)
            noted.append(Frame(position, len(payload), 0, lines, size, ordinal, arrival))
            raw += frames.header(payload, lines=lines, size=size, ordinal=ordinal, arrival=arrival)
            raw += payload
        self.storage.append([bytes(raw)])
        for frame in noted:
            self._note(frame)

    def blocks(self, ordinal: int) -> Iterator[tuple[Frame, bytes, int]]:
        """The blocks from the one that holds ``ordinal`` on: (frame, buffer, payload's start in the buffer).

        Payloads are not checked here: the caller passes those that it uses to ``check``.
        """
        at = self._offsets[max(0, bisect_right(self._ordinals, ordinal) - 1)] if self._offsets else 0
        return (found for found in self._walk(at) if found[0].ordinal + found[0].lines > ordinal)

    def first_at_or_after(self, arrival: int) -> int:
        """The number of the first record that arrived at or after ``arrival`` (ms); ``next`` if none did."""
        if arrival > self.last_arrival:
            return self.next
        at = bisect_left(self._arrivals, arrival)
        for frame, _, _ in self._walk(self._offsets[max(0, at - 1)]):
            if frame.arrival >= arrival:
                return frame.ordinal
        return self.next

    def check(self, frame: Frame, payload: memoryview) -> memoryview:
        """Return ``payload`` when it is what was written. Raises ``DamagedLogError``."""
        if crc32(payload) != frame.check:
            raise DamagedLogError(self.name, frame.position, "a block does not match its checksum")
        return payload

    def delete(self) -> None:
        """Remove the segment and its index."""
        self.storage.delete()
        self.name.with_suffix(".index").unlink(missing_ok=True)

    def _index(self) -> Index:
        columns = b"".join(column.tobytes() for column in self._columns())
        return Index(columns, self.size, self.next, self.last_arrival)

    def _columns(self) -> tuple[array[int], array[int], array[int]]:
        return self._ordinals, self._offsets, self._arrivals

    def _take(self, index: Index) -> None:
        columns = self._columns()
        width = len(index.columns) // len(columns)
        for i, column in enumerate(columns):
            column.frombytes(index.columns[i * width : (i + 1) * width])
        self.size, self.next, self.last_arrival = index.size, index.next, index.last_arrival

    def _whole(self) -> bool:
        """Whether the file ends where its index says, by the headers from the last indexed block on."""
        if not self._offsets:
            return self.storage.end == 0
        try:
            *_, (last, _, _) = self._walk(self._offsets[-1])
        except (DamagedLogError, ValueError):
            return False
        return last.end == self.storage.end and last.ordinal + last.lines == self.next

    def _note(self, frame: Frame) -> None:
        if not self._offsets or frame.position - self._offsets[-1] >= _INDEX_EVERY_BYTES:
            self._ordinals.append(frame.ordinal)
            self._offsets.append(frame.position)
            self._arrivals.append(frame.arrival)
        self.next = frame.ordinal + frame.lines
        self.size += frame.size
        self.last_arrival = frame.arrival

    def _walk(self, position: int) -> Iterator[tuple[Frame, bytes, int]]:
        buffer, base, ahead = b"", position, _READ_BYTES
        # The buffer grows fourfold with each read of one walk: a reader of a few records loads little, a
        # reader of many makes few calls. Packed bytes cost work, so there it does not grow.
        most = _READ_BYTES if self.packed else _MOST_BYTES
        while position < self.storage.end:
            frame = frames.parse(buffer, position, position - base)
            if frame is None or frame.end > base + len(buffer):
                frame, buffer = self._load(position, ahead)
                base, ahead = position, min(4 * ahead, most)
            yield frame, buffer, frame.start - base
            position = frame.end

    def _load(self, position: int, ahead: int) -> tuple[Frame, bytes]:
        """The block at ``position``, and a buffer that begins there and holds all of it."""
        buffer = self.storage.read(position, ahead)
        frame = frames.parse(buffer, position)
        if frame is None:
            raise DamagedLogError(self.name, position, "the header of a block does not match its checksum")
        if frame.end > position + len(buffer):
            buffer = self.storage.read(position, frame.end - position)
        if frame.end > position + len(buffer):
            raise DamagedLogError(self.name, position, "the file ends before the block does")
        return frame, buffer
