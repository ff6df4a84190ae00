"""A rule: one mistake that a client can make, and how it is seen in a recorded exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from rdss_sandbox.shapes.diagnosis import Step
from rdss_sandbox.shapes.recorded_exchange import Exchange


class Harm(StrEnum):
    """What a mistake leads to, the worst first."""

    LOSES = "loses"
    REORDERS = "reorders"
    REPEATS = "repeats"
    BREAKS = "breaks the contract"
    STALLS = "stalls"
    WASTES = "wastes"


@dataclass(frozen=True, slots=True)
class Seen:
    """One mistake as a rule saw it; the fields are those of ``Finding``."""

    client: str | None
    stream: str
    at: float
    said: str
    evidence: dict[str, Any]
    shard: str | None = None
    steps: tuple[Step, ...] = ()
    faults: tuple[str, ...] = ()


class Judgement(NamedTuple):
    """``looked`` counts the times that the mistake could have been made, ``seen`` those that it was."""

    looked: int
    seen: tuple[Seen, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """``sentence`` is what the document at ``source`` says, in our words; ``sign`` is what the wire shows."""

    id: str
    title: str
    harm: Harm
    sign: str
    sentence: str
    source: str
    advice: str
    judge: Callable[[Exchange], Judgement]


def count(number: int, noun: str) -> str:
    """Count in words: ``1 record``, ``3 records``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(ranges: Iterable[tuple[int, int]]) -> int:
    """Count the records in ranges (from, to before)."""
    return sum(end - start for start, end in ranges)


def subtract(
    ranges: Iterable[tuple[int, int]], taken: Iterable[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """Return what is in ``ranges`` and in no range of ``taken``, which are ascending and separate."""
    left = list(ranges)
    for start, end in taken:
        left = [
            piece
            for low, high in left
            for piece in ((low, min(high, start)), (max(low, end), high))
            if piece[0] < piece[1]
        ]
    return tuple(left)
