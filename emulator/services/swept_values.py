"""Values that are few, so that all of them are looked at when a request may have changed any of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from isal.isal_zlib import crc32

from emulator.journal import Change

READING: Final = ("Get", "List", "Describe", "Head", "BatchGet", "Query", "Scan", "Check", "Test")
"""How the names of operations begin that change nothing."""


class SweptValues:
    """What of some values is stored, so that only changes are written."""

    def __init__(self) -> None:
        # Lengths and checksums, or memory would hold each value twice.
        self._stored: dict[bytes, tuple[int, int]] = {}
        self._swept: dict[bytes, tuple[int, int] | None] = {}

    def knows(self, key: bytes) -> bool:
        """Whether a value of ``key`` is stored."""
        return key in self._stored

    def note(self, values: Iterable[tuple[bytes, bytes]]) -> None:
        """Take ``values`` as stored."""
        for key, value in values:
            self._stored[key] = (len(value), crc32(value))

    def sweep(self, values: Iterable[tuple[bytes, bytes]]) -> Iterator[Change]:
        """Yield what differs in ``values``, which are all, from what is stored. ``settle`` says it is now."""
        self._swept = dict.fromkeys(self._stored)
        for key, value in values:
            mark = self._swept[key] = (len(value), crc32(value))
            if self._stored.get(key) != mark:
                yield key, value
        for key, left in self._swept.items():
            if left is None:
                yield key, None

    def settle(self) -> None:
        """Take the values that were swept last as stored."""
        if self._swept:
            self._stored = {key: mark for key, mark in self._swept.items() if mark is not None}
            self._swept = {}

    def forget(self) -> None:
        self._stored.clear()
        self._swept.clear()
