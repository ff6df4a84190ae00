"""Reads a tape, whole or in part.

tape = TapeFile.open(path)              # raises BadTapeError
for entry in tape.read(start, end):     # times as in the entries; None is the tape's own
    ...
tape.troubles                           # sentences for people: what could not be read, so far
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from isal.isal_zlib import crc32

from emulator.journal import frames, salvage
from emulator.journal.frames import HEADER_BYTES, Frame
from extensions.tape.tape_format import (
    FORMAT,
    POSITION,
    IndexedBlock,
    TapeIndex,
    index_frames,
    unpack_block,
    unpack_index,
    unpack_mark,
)
from rdss_sandbox.shapes.tape import TapeEntry, TapeMark
from rdss_sandbox.text.timestamps import timestamp

_MS: Final = 1000
_LATE_SECONDS: Final = 60.0
"""How much later an entry may be written than one that came after it: several threads tell of what passes."""


class BadTapeError(Exception):
    """A file is no tape, or nothing of it can be read. The message names the file and what to do."""


class TapeFile:
    """A tape that can be read again and again.

    ``entries`` is their number, ``first`` and ``last`` are the times of the first and the last one, in
    seconds; 0 for a tape without any. ``troubles`` grows while damage is found.
    """

    def __init__(self, path: Path, mark: TapeMark, index: TapeIndex, troubles: list[str]) -> None:
        self.path = path
        self.mark = mark
        self.troubles = troubles
        self._blocks = index.blocks
        self.entries = sum(each.entries for each in index.blocks)
        self.first = min((each.first for each in index.blocks), default=0) / _MS
        self.last = index.last / _MS

    @classmethod
    def open(cls, path: Path) -> TapeFile:
        """Open a tape, and look for its blocks if it has no index. Raises ``BadTapeError``."""
        try:
            with path.open("rb") as file:
                mark, troubles = _find_mark(file.fileno(), path), list[str]()
                index = _find_index(file.fileno())
                if index is None:
                    index = _search(file.fileno(), path, troubles)
        except OSError as error:
            raise BadTapeError(f"{path} cannot be read: {error.strerror}") from error
        if mark.tape > FORMAT:
            troubles.append(
                f"{path} has the format {mark.tape} of rdss-sandbox {mark.made_by}, which is newer than "
                f"this one's {FORMAT}: entries that it does not know are left out"
            )
        return cls(path, mark, index, troubles)

    def read(self, start: float | None = None, end: float | None = None) -> Iterator[TapeEntry]:
        """Give the entries from ``start`` on and before ``end``, in the order of their times.

        What cannot be read is left out, and told in ``troubles``.
        """
        troubles = list[str]()
        with self.path.open("rb") as file:
            for block in self._list_blocks(start, end):
                for entry in self._read_block(file.fileno(), block, troubles):
                    if (start is None or entry.at >= start) and (end is None or entry.at < end):
                        yield entry
        self.troubles.extend(each for each in troubles if each not in self.troubles)

    def _list_blocks(self, start: float | None, end: float | None) -> tuple[IndexedBlock, ...]:
        firsts = [each.first for each in self._blocks]
        begin = 0 if start is None else bisect_left(firsts, round((start - _LATE_SECONDS) * _MS)) - 1
        until = len(firsts) if end is None else bisect_left(firsts, round((end + _LATE_SECONDS) * _MS))
        return self._blocks[max(0, begin) : until]

    def _read_block(self, descriptor: int, block: IndexedBlock, troubles: list[str]) -> list[TapeEntry]:
        frame = _read_frame(descriptor, block.position)
        payload = _read_payload(descriptor, frame) if frame is not None else None
        try:
            found, unknown = unpack_block(payload) if payload is not None else ([], -1)
        except ValueError:
            unknown = -1
        if unknown < 0:
            troubles.append(
                f"{self.path} is damaged at byte {block.position}: {block.entries} entries from "
                f"{timestamp(block.first / _MS)} on cannot be read"
            )
            return []
        if unknown:
            troubles.append(
                f"{self.path} has {unknown} entries at byte {block.position} that this version does not know"
            )
        return found


def _find_mark(descriptor: int, path: Path) -> TapeMark:
    if not os.fstat(descriptor).st_size:
        raise BadTapeError(f"{path} is empty: no tape was written")
    frame = _read_frame(descriptor, 0)
    payload = _read_payload(descriptor, frame) if frame is not None and not frame.lines else None
    try:
        if payload is not None:
            return unpack_mark(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    raise BadTapeError(f"{path} is no tape: it does not begin as sandbox record begins one")


def _find_index(descriptor: int) -> TapeIndex | None:
    """The index at the end of a tape; None where there is none, or a damaged one."""
    end = os.fstat(descriptor).st_size - POSITION.size
    if end < HEADER_BYTES:
        return None
    (position,) = POSITION.unpack(os.pread(descriptor, POSITION.size, end))
    frame = _read_frame(descriptor, position) if position < end else None
    if frame is None or frame.lines or frame.end != end or not position:
        return None
    payload = _read_payload(descriptor, frame)
    try:
        return unpack_index(frame, payload) if payload is not None else None
    except ValueError:
        return None


def _search(descriptor: int, path: Path, troubles: list[str]) -> TapeIndex:
    """Look through a tape for the blocks that can be read."""
    found = salvage.blocks(path)
    blocks = index_frames(found.kept)
    last = max((each.first for each in blocks), default=0)
    if blocks:
        final = next(each for each in reversed(found.kept) if each.lines)
        with suppress(ValueError):
            entries, _ = unpack_block(os.pread(descriptor, final.length, final.start))
            last = max(round(each.at * _MS) for each in entries)
    try:
        index = TapeIndex(blocks, last).check()
    except ValueError as error:
        raise BadTapeError(f"{path} is no tape: {error}") from error
    end = os.fstat(descriptor).st_size
    damage = [each for each in found.damage if each.end < end]
    troubles += [
        f"{path} is damaged from byte {each.start} to {each.end}: {each.reason}; what is there cannot be read"
        for each in damage
    ]
    if blocks and not damage:
        troubles.append(
            f"{path} was not closed, as after kill -9 or on a full disk: it ends at {timestamp(last / _MS)}"
        )
    return index


def _read_frame(descriptor: int, position: int) -> Frame | None:
    return frames.parse(os.pread(descriptor, HEADER_BYTES, position), position)


def _read_payload(descriptor: int, frame: Frame) -> bytes | None:
    payload = os.pread(descriptor, frame.length, frame.start)
    return payload if crc32(payload) == frame.check else None
