"""Sequences: messages sent in several parts."""

from __future__ import annotations

import msgspec


class SequenceRow(msgspec.Struct, frozen=True):
    """A message in several parts, as far as they came in one stream.

    ``positions`` are those that are there, at most the first 10,000; ``parts`` counts every message, repeated
    ones too; ``first`` and ``last`` are when the earliest and the latest came, ``expires`` the earliest
    expirationTimestamp of a part, if any has one, in seconds since the epoch.
    """

    sequence: str
    stream: str
    message_type: str | None
    total: int
    positions: tuple[int, ...]
    parts: int
    size: int
    first: float
    last: float
    expires: float | None

    @property
    def complete(self) -> bool:
        """Whether every position came."""
        return len({position for position in self.positions if 0 < position <= self.total}) == self.total


class SequencePage(msgspec.Struct, frozen=True):
    """Some sequences; ``total`` is how many there are."""

    sequences: tuple[SequenceRow, ...]
    total: int
