"""The readable part of damaged payload files, for packed segments that refer to them."""

from __future__ import annotations

import os
from pathlib import Path

from emulator.journal.frames import DamagedLogError
from emulator.journal.payloads import PAYLOADS, Payloads
from emulator.journal.salvage import packed_damage, unpack


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
