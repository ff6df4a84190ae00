"""Payload files as far as they can be read, for packed segments that refer to damaged ones."""

from __future__ import annotations

import os
from pathlib import Path

from emulator.journal.frames import DamagedLogError
from emulator.journal.payloads import PAYLOADS, Payloads
from emulator.journal.salvage import packed_damage, unpack


class SalvagedPayloads:
    """``damage`` is what is wrong with those files that are there and damaged, by their numbers.

    What can be read of them is written below ``folder``.
    """

    def __init__(self, payloads: Payloads, folder: Path) -> None:
        self.payloads = payloads
        self.damage: dict[int, DamagedLogError] = {}
        self._folder = folder
        for path in sorted(payloads.folder.glob(f"*{PAYLOADS}")):
            damage = packed_damage(path, payloads)
            if damage is not None:
                self.damage[int(path.stem)] = damage
                unpack(path, self._flat(int(path.stem)), self.read)

    def read(self, file: int, start: int, length: int) -> bytes:
        """Bytes of a payload file; zeros where they cannot be read."""
        if file in self.damage:
            with self._flat(file).open("rb") as flat:
                return os.pread(flat.fileno(), length, start).ljust(length, b"\0")
        try:
            return self.payloads.read(file, start, length)
        except DamagedLogError:
            return bytes(length)

    def _flat(self, number: int) -> Path:
        return self._folder / str(number)
