"""Sequence numbers: 56 decimal digits that say which record they belong to.

``49`` · epoch of the shard (10) · index of the shard (6) · number of the
stream (9) · ordinal in the shard (16) · arrival in milliseconds (13).

The epoch is the second in which the shard began, and never before its
parents'; its index is greater than theirs. So every number of a child is
greater than every number of its parents. Ordinals start at 1: 0 is the shard's StartingSequenceNumber.
"""

from __future__ import annotations

from typing import NamedTuple

_LENGTH = 56
_LAST_MILLIS = 10**13 - 1


class Position(NamedTuple):
    """What a sequence number says: ``prefix`` names the shard, ``ordinal`` the record in it."""

    prefix: str
    ordinal: int
    arrival: int

    @property
    def stream(self) -> int:
        """The number of the stream."""
        return int(self.prefix[18:])


def prefix(epoch: int, shard: int, stream: int) -> str:
    """The first 27 digits, common to every number of a shard."""
    return f"49{max(0, epoch):010d}{shard:06d}{stream:09d}"


def number(shard_prefix: str, ordinal: int, arrival: int) -> str:
    """The sequence number of record ``ordinal``, which arrived at ``arrival`` ms since the epoch."""
    return f"{shard_prefix}{ordinal:016d}{bounded(arrival):013d}"


def bounded(arrival: int) -> int:
    """``arrival`` as it fits its 13 digits."""
    return min(max(0, arrival), _LAST_MILLIS)


def position(sequence_number: str) -> Position | None:
    """Read a number back; None when it is none of ours."""
    if len(sequence_number) != _LENGTH or not sequence_number.isdecimal() or sequence_number[:2] != "49":
        return None
    return Position(sequence_number[:27], int(sequence_number[27:43]), int(sequence_number[43:]))


def stream_number(sequence_number: str) -> str:
    """The digits that tell the record's stream from every other, of the same name too."""
    return sequence_number[18:27]
