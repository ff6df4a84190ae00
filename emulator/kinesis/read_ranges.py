"""Which records of a shard anybody has read, as ranges of ordinals."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.ranges import Range, close_gaps, merge, subtract

_MOST: Final = 64
_CHECKPOINTED: Final = frozenset({"AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "AT_TIMESTAMP"})


class ReadRanges:
    """The records that were read, in ascending, separate ranges (from, to before).

    Where there are more ranges than are kept, the smallest gap between two of them counts as read.
    """

    def __init__(self) -> None:
        self._ranges: tuple[Range, ...] = ()

    def begin(self, kind: str, ordinal: int) -> None:
        """Note a reader that begins at a record, with a starting position of this type.

        One that goes on from a checkpoint, or chose a time, wants nothing of what is before it: that was read
        before this process began, or is not asked for. One that begins at LATEST passes over records that
        stay unread.
        """
        if kind in _CHECKPOINTED:
            self.add(1, ordinal)

    def add(self, start: int, end: int) -> None:
        """Note that the records from ``start`` to before ``end`` were read."""
        ranges = self._ranges
        if ranges and ranges[-1][0] <= start <= ranges[-1][1]:
            if end > ranges[-1][1]:
                self._ranges = (*ranges[:-1], (ranges[-1][0], end))
        elif start < end:
            self._ranges = close_gaps(merge(*ranges, (start, end)), _MOST)

    def list_unread(self, first: int, end: int) -> list[Range]:
        """List the ranges of records from ``first`` to before ``end`` that nobody has read."""
        return list(subtract([(first, end)], self._ranges))
