"""Sequence numbers: 56 decimal digits that name one record.

    49 | epoch of shard | index of shard | number of stream | ordinal in shard | arrival in ms
     2 |             10 |              6 |                9 |               16 |            13  digits

The epoch is the second in which the shard was created, and is never before its parents'. The index is
greater than theirs. So every sequence number of a child is greater than all of its parents'. Ordinals start
at 1; the ordinal 0 is the shard's StartingSequenceNumber.
"""

from __future__ import annotations

from typing import NamedTuple

_LENGTH = 56
LAST_MILLIS = 10**13 - 1
"""The last arrival time, in ms, that 13 digits hold."""


class Position(NamedTuple):
    """The parts of a sequence number. ``prefix`` names the shard, ``ordinal`` the record; arrival in ms."""

    prefix: str
    ordinal: int
    arrival: int

    @property
    def stream(self) -> int:
        return int(self.prefix[18:])

    @property
    def shard(self) -> int:
        return int(self.prefix[12:18])


def prefix(epoch: int, shard: int, stream: int) -> str:
    """The first 27 digits, which all sequence numbers of a shard share."""
    return f"49{max(0, epoch):010d}{shard:06d}{stream:09d}"


def number(shard_prefix: str, ordinal: int, arrival: int) -> str:
    """The sequence number of record ``ordinal``, which arrived at ``arrival`` ms since the epoch."""
    return f"{shard_prefix}{ordinal:016d}{min(max(0, arrival), LAST_MILLIS):013d}"


def position(sequence_number: str) -> Position | None:
    """The parts of a sequence number; None when this engine did not make it."""
    if len(sequence_number) != _LENGTH or not sequence_number.isdecimal() or sequence_number[:2] != "49":
        return None
    return Position(sequence_number[:27], int(sequence_number[27:43]), int(sequence_number[43:]))
