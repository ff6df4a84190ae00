"""The moments at which a client is killed: spread over its work by its own measured pace."""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from emulator.rng import Draws
from sandbox.certify.history import History

_LONGEST_SECONDS: Final = 5.0
_UNKNOWN_SECONDS: Final = 0.01


class ConsumerPace(NamedTuple):
    """The seconds that a consumer takes from a delivery to its first telling, and from telling to telling."""

    first: float
    each: float

    def work(self, records: int) -> float:
        """How long it works on an answer with so many records, in seconds."""
        return min(self.first + self.each * records, _LONGEST_SECONDS)


def measure_pace(history: History) -> ConsumerPace:
    """The median times of a consumer so far."""
    moments: dict[tuple[int, str], float] = {}
    for each in history.told:
        moments.setdefault((each.life, each.message_id), each.at)
    firsts = [
        min(found) - read.at
        for read in history.reads()
        if (
            found := [
                at
                for each in read.records
                if (at := moments.get((read.life, each.message_id or ""))) is not None
            ]
        )
        and min(found) >= read.at
    ]
    gaps = [after.at - before.at for before, after in pairwise(history.told) if before.life == after.life]
    return ConsumerPace(median(firsts or [_UNKNOWN_SECONDS]), median(gaps or [_UNKNOWN_SECONDS]))


def measure_pause(history: History) -> float:
    """The median seconds that a producer took so far from a telling to its next put."""
    steps = sorted(
        [(each.at, each.life, False) for each in history.told]
        + [(each.asked, each.life, True) for each in history.puts()]
    )
    gaps = [
        after - before
        for (before, life, put), (after, same, puts) in pairwise(steps)
        if puts and not put and life == same
    ]
    return min(median(gaps or [_UNKNOWN_SECONDS]), _LONGEST_SECONDS)


def spread(draws: Draws, count: int) -> list[float]:
    """``count`` numbers from 0 to 1, one in each of as many equal parts, in the order of chance."""
    numbers = [(part + draws.uniform(0, 1)) / count for part in range(count)]
    return sorted(numbers, key=lambda _: draws.uniform(0, 1))
