"""A rule: one mistake that a client can make, and how it is seen in a recorded exchange."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

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


class Sighting(msgspec.Struct, frozen=True):
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
    """How often the mistake could have been made (``looked``), and each time that it was."""

    looked: int
    sightings: tuple[Sighting, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """``sentence`` is what the document at ``source`` says, in our words; ``sign`` is what the wire shows.

    A ``patient`` rule waits for what a client does not do. Somebody may set the clock forward in the moment
    before it is done, so such a finding is told as an event only if it is still there some seconds later.
    """

    id: str
    title: str
    harm: Harm
    sign: str
    sentence: str
    source: str
    advice: str
    judge: Callable[[Exchange], Judgement]
    patient: bool = False


def count(number: int, noun: str) -> str:
    """Count in words: ``1 record``, ``3 records``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
