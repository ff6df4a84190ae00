"""Delays end with their fault: a ``Hold`` says whether the fault is still in force."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Hold:
    """Shared by everything that one fault delays. ``ended`` once the fault is removed or switched off."""

    __slots__ = ("ended",)

    def __init__(self) -> None:
        self.ended = False


class Moment(NamedTuple):
    """A delay in seconds, or a moment in seconds since the epoch, that counts until ``hold`` has ended."""

    hold: Hold
    seconds: float


def latest(moments: Iterable[Moment]) -> float:
    """The greatest ``seconds`` among the moments whose hold has not ended; 0 when there are none."""
    return max((seconds for hold, seconds in moments if not hold.ended), default=0.0)
