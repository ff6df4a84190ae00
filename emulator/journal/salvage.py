"""What can still be read of a damaged log: every block whose checksums fit, at any position."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from isal.isal_zlib import crc32

from emulator.journal import frames
from emulator.journal.frames import DamagedLogError, Frame
from emulator.journal.packed import STRETCH_BYTES, PackedStorage, Shared, whole_stretch
from emulator.journal.payloads import PAYLOADS, Payloads
from emulator.journal.spliced import Read
from emulator.machine.private_files import touch

_LIKE_A_HEADER: Final = re.compile(rb"(?=.{3}[\x00-\x0f].{18}\x00\x00.{6}\x00\x00(?!\x00{4}))", re.DOTALL)
"""A header's look: its block is under 256 MiB, its number and its time are under 48 bits, it is not zeros.

Only bytes that look like this are checked against the checksums, which makes the search fast.
"""


class Damage(NamedTuple):
    """An unreadable stretch, from byte ``start`` to before ``end``."""

    start: int
    end: int
    reason: str


class Salvage(NamedTuple):
    """The blocks that can be read, and the damage between and after them."""

    kept: list[Frame]
    damage: list[Damage]

    @property
    def next(self) -> int:
        """The number after the last line that can be read; 0 when no line can be read."""
        return self.kept[-1].ordinal + self.kept[-1].lines if self.kept else 0

    @property
    def lines(self) -> int:
        """How many lines can be read."""
        return sum(frame.lines for frame in self.kept)


def salvage(path: Path) -> Salvage | None:
    """What can be read of the log at ``path``; None when the log is sound, or has a torn tail only."""
    with path.open("rb") as file:
        try:
            for _ in frames.scan(file.fileno(), path):
                pass
        except DamagedLogError:
            pass
        else:
            return None
    return blocks(path)


def blocks(path: Path, start: int = 0) -> Salvage:
    """All that can be read of the log at ``path`` from the byte ``start`` on."""
    if not path.stat().st_size:
        return Salvage([], [])
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        return _read(raw, start)


def write_kept(path: Path, kept: list[Frame], to: Path) -> None:
    """Write the blocks ``kept`` of ``path`` to a new log, which survives loss of power when this returns."""
    with path.open("rb") as source, touch(to).open("wb") as file:
        for frame in kept:
            file.write(os.pread(source.fileno(), frame.end - frame.position, frame.position))
        file.flush()
        os.fsync(file.fileno())


def _read(raw: mmap.mmap, position: int) -> Salvage:
    kept: list[Frame] = []
    damage: list[Damage] = []
    end = len(raw)
    while position < end:
        frame = _frame(raw, position)
        if frame is not None and _sound(raw, frame):
            kept.append(frame)
            position = frame.end
            continue
        reason = "the header of a block does not match its checksum"
        begin, position = position, next(_blocks(raw, position + 1), end)
        if frame is not None:
            reason = "a block does not match its checksum" if frame.end <= end else "a block is cut off"
        damage.append(Damage(begin, position, reason))
    return Salvage(kept, damage)


def _blocks(raw: mmap.mmap, start: int) -> Iterator[int]:
    """Where sound blocks begin, from ``start`` on."""
    for found in _LIKE_A_HEADER.finditer(raw, start):
        frame = _frame(raw, found.start())
        if frame is not None and _sound(raw, frame):
            yield found.start()


def _frame(raw: mmap.mmap, position: int) -> Frame | None:
    return frames.parse(raw[position : position + frames.HEADER_BYTES], position)


def _sound(raw: mmap.mmap, frame: Frame) -> bool:
    return frame.end <= len(raw) and crc32(raw[frame.start : frame.end]) == frame.check


def packed_damage(path: Path, shared: Shared) -> DamagedLogError | None:
    """What is wrong with a packed file or with a file that it refers to; None when all can be read."""
    try:
        storage, _ = PackedStorage.open(path, shared)
        for number in range(-(-storage.end // STRETCH_BYTES)):
            storage.stretch(number)
    except DamagedLogError as error:
        return error
    return None


def unpack(path: Path, to: Path, read: Read) -> None:
    """Write the readable part of a packed file to ``to``, as it was before it was packed.

    Zeros stand for what cannot be read, so that the bytes after them keep their positions. ``read`` must
    return zeros for a payload that it cannot read.
    """
    touch(to)
    if not path.stat().st_size:
        return
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw,
        to.open("wb") as whole,
    ):
        for frame in _read(raw, 0).kept:
            # Only the block of the index has a time. It is left out: opening the segment makes a new one.
            if not frame.arrival:
                whole.seek(frame.ordinal * STRETCH_BYTES)
                whole.write(whole_stretch(frame, raw[frame.start : frame.end], read))
        whole.flush()
        os.fsync(whole.fileno())


class SalvagedPayloads:
    """``damage`` says what is wrong with each damaged payload file, by the file's number.

    The readable part of each is written below ``folder``.
    """

    def __init__(self, payloads: Payloads, folder: Path) -> None:
        self.payloads = payloads
        self.damage: dict[int, DamagedLogError] = {}
        self._folder = folder
        for path in sorted(payloads.folder.glob(f"*{PAYLOADS}")):
            damage = packed_damage(path, payloads)
            if damage is not None:
                self.damage[int(path.stem)] = damage
                unpack(path, self._folder / path.stem, self.read)

    def read(self, file: int, start: int, length: int) -> bytes:
        """Bytes of a payload file; zeros where they cannot be read."""
        if file in self.damage:
            with (self._folder / self.payloads.path_of(file).stem).open("rb") as readable:
                return os.pread(readable.fileno(), length, start).ljust(length, b"\0")
        try:
            return self.payloads.read(file, start, length)
        except DamagedLogError:
            return bytes(length)
