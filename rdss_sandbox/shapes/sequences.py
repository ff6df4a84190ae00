"""Sequences: messages sent in several parts."""

from __future__ import annotations

from typing import Any

import msgspec

from rdss_sandbox.shapes.contract import Verdict


class SequenceRow(msgspec.Struct, frozen=True):
    """The parts of one sequence that arrived in one stream.

    ``positions`` are the positions that arrived, at most the first 10,000. ``parts`` counts all messages,
    repeated ones included. ``first`` and ``last`` are the earliest and the latest arrival, and ``expires`` is
    the earliest expirationTimestamp of a part, all in seconds since the epoch.
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
        """Whether every position arrived."""
        return len({position for position in self.positions if 0 < position <= self.total}) == self.total


class JoinedSequence(Verdict, frozen=True):
    """The message that the parts of a sequence make, in the form of ``MessageDetail``, and the verdict on it.

    Where the parts do not make one, it is None throughout, and the violations say why.
    """

    header: dict[str, Any] | None = None
    body: Any = None
    raw: str | None = None
    raw_base64: str | None = None


class SequencePage(msgspec.Struct, frozen=True):
    """A page of the ``total`` sequences that match. ``indexed`` is as for a page of messages."""

    sequences: tuple[SequenceRow, ...]
    total: int
    indexed: bool = True
