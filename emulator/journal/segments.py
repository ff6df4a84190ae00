"""The records of one shard: numbered lines in append-only segments, kept until they are trimmed."""

from __future__ import annotations

import shutil
import threading
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from emulator.journal.frames import DamagedLogError, Frame
from emulator.journal.inventory import inventory_of, unlist
from emulator.journal.packed import SUFFIX, segment_files
from emulator.journal.segment import Block, Segment
from emulator.machine.private_files import touch

SEGMENT_BYTES = 1 << 24
_PLACES_KEPT = 64
_LEAP = 1 << 40
"""How far numbers jump after lost records: more records than a shard can ever have had."""


class Slice(NamedTuple):
    """Consecutive lines as they were written, how many there are, and the number after the last.

    The first has the number ``next - lines``. Where records are missing, that is more than was asked for.
    """

    parts: list[memoryview]
    lines: int
    next: int


class Segments:
    """Lines numbered from 1, in blocks. Each block has one arrival time, in milliseconds since the epoch.

    A line ends with a newline and has none inside. ``directory`` None keeps everything in memory.
    ``torn_bytes`` is the length of a torn block that was cut when the files were opened. Not thread-safe,
    except for ``sync``. Raises ``DamagedLogError``.

    The numbers of records that were lost, in a power cut or with their file, are not used again, since
    readers may have passed them. ``lost`` says whether a whole file was lost. Reads skip what is missing.

    With ``fsync`` a read gives only what a ``sync`` has put on the disk, so that nobody sees what loss of
    power can undo. A ``new`` directory never had records, so nothing is looked for in it. After ``leap`` the
    numbers go on beyond all those that any log with a lower leap has given, and the last of their digits as
    before.
    """

    def __init__(
        self,
        directory: Path | None,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        fsync: bool = False,
        new: bool = False,
        leap: int = 0,
    ) -> None:
        self.directory = directory
        self._fsync = fsync
        self._segment_bytes = segment_bytes
        self._segments: list[Segment] = []
        self._places: OrderedDict[int, tuple[int, int]] = OrderedDict()
        self._reading: Segment | None = None
        self._sync_lock = threading.Lock()
        self._dirty: dict[Segment, None] = {}
        self._doubtful: Segment | None = None
        self._cold: deque[Segment] = deque()
        self.torn_bytes = 0
        self.lost = False
        if directory is not None and not new:
            self._open_files(directory)
        reached = self._segments[-1].next if self._segments else 1
        following = _leap_over(reached, leap)
        if not self._segments or self._segments[-1].packed or following > reached:
            self._segments.append(self._new_segment(following))
        self.first = self._segments[0].first
        self._oldest = self._segments[0].first_arrival
        self._written = self._flushed = self.next

    @classmethod
    def put_back(
        cls,
        directory: Path | None,
        blocks: Sequence[Block],
        *,
        segment_bytes: int = SEGMENT_BYTES,
        fsync: bool = False,
        leap: int = 0,
    ) -> Segments:
        """Make a log of copied blocks, in a directory that has none. Raises OSError."""
        made = cls(directory, segment_bytes=segment_bytes, fsync=fsync, new=True)
        if blocks:
            made._segments = [made._new_segment(blocks[0].ordinal)]
            made.first = blocks[0].ordinal
        for batch in _batches(blocks, segment_bytes):
            segment = made._segments[-1]
            ordinal = batch[0].ordinal
            if segment.storage.end and (segment.storage.end >= segment_bytes or ordinal > segment.next):
                segment = made._roll(segment, ordinal)
            segment.put_back(batch)
            made._dirty[segment] = None
            made._add_to_inventory(segment)
        following = _leap_over(made.next, leap)
        if following > made.next:
            made._leap_to(following)
        made._oldest = made._segments[0].first_arrival
        made._written = made.next
        return made

    def copy(self) -> Iterator[Block]:
        """Yield every block that holds a kept record. Raises ``DamagedLogError``."""
        for segment in self._segments:
            for frame, buffer, start in segment.blocks(max(self.first, segment.first)):
                payload = segment.check(frame, memoryview(buffer)[start : start + frame.length])
                yield Block(frame.ordinal, frame.lines, frame.size, frame.arrival, bytes(payload))
            if segment is not self._segments[-1]:
                segment.storage.close()

    @property
    def next(self) -> int:
        """The number that the next record gets."""
        return self._segments[-1].next

    @property
    def last_arrival(self) -> int:
        """When the last record arrived; 0 when there never was one."""
        # A new segment has no record yet: then the one before it knows.
        return max(
            self._segments[-1].last_arrival, self._segments[-2].last_arrival if self._segments[1:] else 0
        )

    @property
    def size(self) -> int:
        """Bytes of user data in the segments that are still kept."""
        return sum(segment.size for segment in self._segments)

    def append(self, payload: bytes, count: int, size: int, arrival: int) -> None:
        """Append ``count`` lines as one block. OSError leaves the shard as it was."""
        segment = self._segments[-1]
        if segment.storage.end >= self._segment_bytes or segment is self._doubtful:
            segment = self._roll(segment)
        if self.first == segment.next:
            self._oldest = arrival
        fresh = segment.next == segment.first
        segment.append(payload, count, size, arrival)
        self._dirty[segment] = None
        # Behind the mark: a flush that sees the number takes the segment along.
        self._written = segment.next
        if fresh:
            self._add_to_inventory(segment)

    def sync(self) -> None:
        """Return when everything appended before the call survives loss of power.

        Concurrent callers share one flush.
        """
        with self._sync_lock:
            written = self._written
            for segment in tuple(self._dirty):
                # Removed before the flush, because an append during the flush makes it dirty again.
                self._dirty.pop(segment, None)
                try:
                    segment.storage.sync()
                except OSError:
                    # What is on the disk of it is not known, even when another flush succeeds: nothing that
                    # is promised comes behind that.
                    self._doubtful = segment
                    self._dirty[segment] = None
                    raise
            self._flushed = written

    def read(self, ordinal: int, limit: int, max_size: int) -> Slice:
        """Up to ``limit`` lines and ``max_size`` bytes of user data from ``ordinal`` on.

        There is at least one line, however long, if there is any. Raises ``DamagedLogError`` when what is
        read is not what was written.
        """
        ordinal = max(ordinal, self.first)
        parts: list[memoryview] = []
        reached = ordinal
        end = self._flushed if self._fsync else self.next
        while limit and reached < end:
            segment = self._segment_of(reached)
            for frame, buffer, start in segment.blocks(reached):
                if frame.ordinal >= end:
                    return Slice(parts, reached - ordinal, reached)
                if frame.ordinal > reached:
                    # Records are missing here. A slice is consecutive: it ends before the gap, or begins
                    # after it.
                    if parts:
                        return Slice(parts, reached - ordinal, reached)
                    reached = ordinal = frame.ordinal
                payload = memoryview(buffer)[start : start + frame.length]
                taken, lines, size = self._cut(
                    segment, frame, payload, ordinal=reached, limit=limit, room=max_size
                )
                if not lines or (parts and size > max_size):
                    return Slice(parts, reached - ordinal, reached)
                parts.append(taken)
                reached += lines
                limit -= lines
                max_size -= size
                if not limit or max_size <= 0 or reached < frame.ordinal + frame.lines:
                    return Slice(parts, reached - ordinal, reached)
            beyond = self._first_beyond(segment)
            if reached < beyond:
                if parts:
                    return Slice(parts, reached - ordinal, reached)
                reached = ordinal = beyond
        return Slice(parts, reached - ordinal, reached)

    def misses(self, ordinal: int) -> bool:
        """Whether the record ``ordinal`` is missing, and later ones are there."""
        return ordinal < self.next and self._segment_of(ordinal).next <= ordinal

    def count(self, start: int) -> int:
        """How many records there are from the number ``start`` on."""
        start = max(start, self.first)
        return sum(max(0, each.next - max(start, each.first)) for each in self._segments)

    @property
    def total(self) -> int:
        """How many records were ever appended, without those lost after the last that is left."""
        return (self.next - 1) % _LEAP

    def first_at_or_after(self, arrival: int) -> int:
        """The number of the first kept record that arrived at or after ``arrival``; ``next`` if none did."""
        for segment in self._segments:
            if segment.last_arrival >= arrival and segment.next > segment.first:
                return max(self.first, segment.first_at_or_after(arrival))
        return self.next

    def arrival_of(self, ordinal: int) -> int | None:
        """When the record ``ordinal`` arrived; None when it is not kept."""
        return self._arrival_of(ordinal) if self.first <= ordinal < self.next else None

    def trim(self, before: int) -> None:
        """Forget every record that arrived before ``before``, and delete the segments that have no other."""
        if self.first == self.next or self._oldest >= before:
            return
        self.first = self.first_at_or_after(before)
        if self.directory is not None and self.first == self._segments[-1].first:
            # The older segments go now, and the last may have no file yet. Without one, a start would not
            # know which number is next.
            touch(self._segments[-1].name)
        while len(self._segments) > 1 and self._segments[0].next <= self.first:
            gone = self._segments.pop(0)
            self._dirty.pop(gone, None)
            unlist(gone.name)
            if gone is self.cold:
                self._cold.popleft()
            gone.delete()
        self._oldest = self._arrival_of(self.first)

    def keep_next(self) -> None:
        """Let the next start know the next number, even if nothing has it yet."""
        if self.directory is not None and self._segments[-1].next == self._segments[-1].first:
            self.directory.mkdir(parents=True, exist_ok=True)
            touch(self._segments[-1].name)

    def roll(self, least: int) -> None:
        """Begin a new segment if the last one has at least ``least`` bytes."""
        if self._segments[-1].storage.end >= max(least, 1):
            self._roll(self._segments[-1])

    @property
    def cold(self) -> Segment | None:
        """The oldest segment that is full and not packed; None when there is none, and in memory."""
        return self._cold[0] if self._cold else None

    def replace(self, segment: Segment, packed: Segment) -> bool:
        """Read ``segment``, which was ``cold``, from its ``packed`` copy from now on.

        Returns False while a ``sync`` runs: try again. A segment that was trimmed meanwhile takes its
        packed copy with it.
        """
        if segment not in self._segments:
            packed.delete()
            return True
        if not self._sync_lock.acquire(blocking=False):
            return False
        try:
            self._dirty.pop(segment, None)
            self._cold.remove(segment)
            segment.replace_by(packed)
        finally:
            self._sync_lock.release()
        return True

    def close(self) -> None:
        for segment in self._segments:
            segment.storage.close()

    def delete(self) -> None:
        """Remove every record and the directory."""
        if self.directory is not None:
            unlist(self.directory)
            if not self.directory.exists():
                return
        for segment in self._segments:
            segment.delete()
        if self.directory is not None:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _open_files(self, directory: Path) -> None:
        paths = segment_files(directory)
        for path in paths:
            segment, torn = self._open(path, last=path is paths[-1])
            self.torn_bytes += torn
            if self._fsync:
                # An earlier process may have died between a write and its flush.
                segment.storage.sync()
            segment.storage.close()
            self._segments.append(segment)
            if segment.next > segment.first:
                self._add_to_inventory(segment)
            else:
                unlist(path)
        self._skip_lost_numbers(directory)

    def _open(self, path: Path, *, last: bool) -> tuple[Segment, int]:
        """Open a file and return its segment and how many bytes of a torn tail were cut."""
        if path.suffix == SUFFIX:
            return Segment.open_packed(path), 0
        sealed = None if last else Segment.open_sealed(path)
        segment, torn = (sealed, 0) if sealed else Segment.open(path)
        if not last:
            self._cold.append(segment)
        return segment, torn

    def _skip_lost_numbers(self, directory: Path) -> None:
        """Begin a new segment after the numbers of lost records, if the last records were lost."""
        inventory = inventory_of(directory)
        lost = inventory.lost_logs(directory) if inventory is not None else []
        self.lost = bool(lost)
        kept = max((each.first for each in self._segments if each.next > each.first), default=0)
        behind = [first for path in lost if (first := int(path.stem)) > kept]
        if self._segments and self._segments[-1].zeroed:
            behind.append(self._segments[-1].next)
        if behind:
            self._segments.append(self._new_segment(skip_lost_numbers(directory, max(behind))))

    def _first_beyond(self, segment: Segment) -> int:
        """The number at which the next segment begins; ``next`` after the last segment."""
        following = self._segments[self._segments.index(segment) + 1 :][:1]
        return following[0].first if following else self.next

    def _add_to_inventory(self, segment: Segment) -> None:
        if self.directory is not None and (inventory := inventory_of(self.directory)) is not None:
            inventory.add(segment.name)

    def _new_segment(self, first: int) -> Segment:
        return Segment.in_memory(first) if self.directory is None else Segment.create(self.directory, first)

    def _roll(self, full: Segment, first: int | None = None) -> Segment:
        # What is sealed is not looked through by a start, so it has to be whole.
        if full is not self._doubtful:
            if self._fsync:
                full.storage.sync()
            full.seal()
        if self.directory is not None:
            self._cold.append(full)
        fresh = self._new_segment(full.next if first is None else first)
        self._segments.append(fresh)
        return fresh

    def _leap_to(self, first: int) -> None:
        """Begin a segment at ``first``; an empty last one is none."""
        if self._segments[-1].next > self._segments[-1].first:
            self._roll(self._segments[-1], first)
        else:
            self._segments[-1] = self._new_segment(first)
            self.first = self._segments[0].first

    def _segment_of(self, ordinal: int) -> Segment:
        at = bisect_right(self._segments, ordinal, key=lambda segment: segment.first) - 1
        segment = self._segments[at]
        # At most one file is open for reading besides the last: a shard may have hundreds of segments.
        if self._reading is not None and self._reading not in (segment, self._segments[-1]):
            self._reading.storage.close()
        self._reading = segment
        return segment

    def _arrival_of(self, ordinal: int) -> int:
        """When the first kept record from ``ordinal`` on arrived; 0 when there is none."""
        while ordinal < self.next:
            segment = self._segment_of(ordinal)
            for frame, _, _ in segment.blocks(ordinal):
                return frame.arrival
            ordinal = self._first_beyond(segment)
        return 0

    def _cut(
        self, segment: Segment, frame: Frame, payload: memoryview, *, ordinal: int, limit: int, room: int
    ) -> tuple[memoryview, int, int]:
        """The lines of a block from ``ordinal`` on, how many, and their share of its user data."""
        # The usual case: the whole block fits, and no line is looked for.
        if ordinal == frame.ordinal and frame.lines <= limit and frame.size <= room:
            return segment.check(frame, payload), frame.lines, frame.size
        text = bytes(payload)
        begin = self._place(segment, frame, text, ordinal)
        end, lines = begin, 0
        while lines < limit and ordinal + lines < frame.ordinal + frame.lines:
            after = _after_line(segment, frame, text, end)
            if lines and (after - begin) * frame.size // frame.length > room:
                break
            end, lines = after, lines + 1
        self._places[ordinal + lines] = (frame.ordinal, end)
        if len(self._places) > _PLACES_KEPT:
            self._places.popitem(last=False)
        return payload[begin:end], lines, (end - begin) * frame.size // frame.length

    def _place(self, segment: Segment, frame: Frame, text: bytes, ordinal: int) -> int:
        """Where in its block the line ``ordinal`` begins.

        The places where readers stopped are remembered, so that the next read searches and checks nothing.
        """
        known, begin = self._places.get(ordinal, (-1, 0))
        if known == frame.ordinal:
            return begin
        segment.check(frame, memoryview(text))
        begin = 0
        for _ in range(ordinal - frame.ordinal):
            begin = _after_line(segment, frame, text, begin)
        return begin


def _after_line(segment: Segment, frame: Frame, text: bytes, begin: int) -> int:
    """Where the next line of a block begins. Raises ``DamagedLogError`` when this one has no end."""
    end = text.find(b"\n", begin) + 1
    if not end:
        reason = f"a block has fewer records than the {frame.lines} that its header says"
        raise DamagedLogError(segment.name, frame.position, reason)
    return end


def _leap_over(reached: int, leap: int) -> int:
    """The next number after the last one that was ``reached``, beyond so many leaps."""
    return reached if reached >= leap * _LEAP else leap * _LEAP + (reached - 1) % _LEAP + 1


def _batches(blocks: Sequence[Block], most_bytes: int) -> Iterator[list[Block]]:
    """Split blocks where numbers are missing, and so that each batch fits into a segment."""
    batch: list[Block] = []
    size = 0
    for block in blocks:
        if batch and (block.ordinal > batch[-1].ordinal + batch[-1].lines or size >= most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(block)
        size += len(block.payload)
    if batch:
        yield batch


def skip_lost_numbers(directory: Path, number: int) -> int:
    """Create a segment whose numbers no lost record had, and return its first number.

    ``number`` is the first number that was lost.
    """
    first = number + _LEAP
    directory.mkdir(parents=True, exist_ok=True)
    touch(directory / f"{first:016d}.log")
    return first
