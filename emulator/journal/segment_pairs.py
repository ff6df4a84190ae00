"""Segments of which there are two files of one name: as they were written, and compressed.

A process that dies while it compresses a segment leaves both, with the same bytes. Where they differ, another
version of the sandbox has written one of them, and neither may be overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from emulator.journal import frames
from emulator.journal.aside import FOLDER, put_aside, put_copy_aside
from emulator.journal.frames import DamagedLogError
from emulator.journal.inventory import unlist
from emulator.journal.packed import STRETCH_BYTES, SUFFIX, PackedStorage, Shared
from emulator.journal.segments import skip_lost_numbers
from rdss_sandbox.text.figures import counted

_LOOK_BYTES = 1 << 20


class PutAside(NamedTuple):
    """A ``file`` that is now at ``to``, and why."""

    file: Path
    to: Path
    why: str


class _Whole(Enum):
    """Which of two files has all that the other has."""

    LOG = 0
    PACKED = 1
    NEITHER = 2


def settle_pairs(root: Path, shared: Shared) -> list[PutAside]:
    """Leave one file of every segment below ``root`` that has two, and return what was put aside.

    A file that has nothing beside the other is removed. Of two that differ, both are put aside. Files that
    are no segments have no number for a name, and are left to those who know them. Raises OSError.
    """
    found: list[PutAside] = []
    for packed in sorted(root.rglob(f"*{SUFFIX}")):
        log = packed.with_suffix(".log")
        if packed.stem.isdecimal() and log.exists() and packed.relative_to(root).parts[0] != FOLDER:
            found += _settle(log, packed, root, shared)
    return found


def _settle(log: Path, packed: Path, root: Path, shared: Shared) -> Iterator[PutAside]:
    try:
        storage, index = PackedStorage.open(packed, shared)
        whole = _compare(log, storage)
    except DamagedLogError as error:
        why = f"it cannot be read at byte {error.position}, and {log.name} beside it is used"
        # A repair that was killed may have kept a copy.
        yield PutAside(packed, put_copy_aside(packed, root), why)
        packed.unlink()
        return
    if whole is _Whole.LOG:
        packed.unlink()
    elif whole is _Whole.PACKED:
        log.unlink()
    else:
        lines, following = _count(log)
        counts = {log: lines, packed: index.next - int(packed.stem)}
        if packed == max(packed.parent.glob(f"*{SUFFIX}")) and log == max(log.parent.glob("*.log")):
            skip_lost_numbers(packed.parent, max(index.next, following))
        unlist(log)
        for path, other in ((log, packed), (packed, log)):
            why = (
                f"it has {counted(counts[path], 'record')}, and {other.name}, which should have the same, "
                f"has {counts[other]}: one of them is another version's; to have one back, "
                "stop the sandbox and move that one to where it was"
            )
            yield PutAside(path, put_aside(path, root), why)
    if whole is not _Whole.LOG:
        log.with_suffix(".index").unlink(missing_ok=True)


def _compare(log: Path, packed: PackedStorage) -> _Whole:
    """Find which of the two has all bytes of the other. Raises ``DamagedLogError`` when it cannot be read."""
    with log.open("rb") as file:
        for number in range(-(-packed.end // STRETCH_BYTES)):
            stretch = packed.stretch(number)
            piece = file.read(len(stretch))
            if piece != stretch:
                # What loss of power cut from the end of the log, the compressed file has.
                same = next(
                    (i for i, (a, b) in enumerate(zip(piece, stretch, strict=False)) if a != b), len(piece)
                )
                torn = not piece[same:].strip(b"\0") and _only_zeros(file.fileno(), file.tell())
                return _Whole.PACKED if torn else _Whole.NEITHER
    return _Whole.LOG


def _only_zeros(descriptor: int, position: int) -> bool:
    while piece := os.pread(descriptor, _LOOK_BYTES, position):
        if piece.strip(b"\0"):
            return False
        position += len(piece)
    return True


def _count(log: Path) -> tuple[int, int]:
    """How many records of a log can be read before it ends or is damaged, and the number after them."""
    lines, following = 0, int(log.stem)
    with log.open("rb") as file:
        try:
            for frame in frames.scan(file.fileno(), log):
                lines += frame.lines
                following = frame.ordinal + frame.lines
        except DamagedLogError:
            pass
    return lines, following
