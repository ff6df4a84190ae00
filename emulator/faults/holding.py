"""What a fault holds back, it holds back for as long as it is in force."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Hold:
    """Of one fault; ``ended`` once the fault was removed or switched off."""

    __slots__ = ("ended",)

    def __init__(self) -> None:
        self.ended = False


class Moment(NamedTuple):
    """For so many seconds, or until then, as long as ``hold`` lasts."""

    hold: Hold
    seconds: float


def latest(moments: Iterable[Moment]) -> float:
    """The greatest number of seconds of the holds that last; 0 when there are none."""
    return max((seconds for hold, seconds in moments if not hold.ended), default=0.0)
