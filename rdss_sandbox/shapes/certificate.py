"""A certificate, as ``sandbox certify`` writes it and the terminal opens it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

FILE: Final = "certificate.json"
"""What the folder of a certificate has, and that of a run has not."""
DESELECTED: Final = "deselected"
NOT_IN_LEVEL: Final = "not-in-level"


class ClauseVerdict(StrEnum):
    """``not exercised`` is never a pass: what the clause is about did not reach the client often enough.

    ``not applicable`` bars no level: the client does not work in the way that the clause is about.
    """

    PASS = "pass"  # noqa: S105 -- the word of a verdict
    FAIL = "fail"
    NOT_EXERCISED = "not exercised"
    NOT_APPLICABLE = "not applicable"


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A breach of a clause: a sentence, the level and the name of the stage in which it happened, its facts.

    ``level`` counts from 1, bronze. ``times`` counts the breaches that are alike. ``output`` has the client's
    last lines where it died.
    """

    said: str
    level: int
    facts: dict[str, Any] = {}
    stage: str = ""
    times: int = 1
    output: tuple[str, ...] = ()


class ClauseResult(msgspec.Struct, frozen=True):
    """A clause as it was judged; ``reason`` says why it was not exercised, ``replay`` repeats the run.

    ``advice`` says what to do where it fails.
    """

    id: str
    group: str
    verdict: ClauseVerdict
    exposure: int
    needed: int
    reason: str | None
    demand: str
    source: str
    evidence: tuple[Finding, ...]
    replay: str
    level: str = "bronze"
    advice: str = ""


class SmallestRun(msgspec.Struct, frozen=True):
    """A stage that was repeated alone since a clause failed in it: of how many, and how often it fails again.

    ``replay`` is the command that repeats it, ``sentence`` all of it in words.
    """

    clause: str
    stage: str
    of: int
    messages: int
    tries: int
    fails: int
    said: str
    replay: str
    sentence: str


class Certificate(msgspec.Struct, frozen=True):
    """What ``sandbox certify --json`` prints. ``level`` is the highest one reached, or None.

    ``levels`` has a verdict for each level: of its own clauses and those below, the worst. ``remarks`` are
    sentences that come before any verdict, such as that the client told nothing. ``stages`` has a sentence on
    what the kit did in each stage, by its name. ``part_of`` names all stages of the run of
    which this is a part; empty for a whole run.
    """

    kit: dict[str, Any]
    subject: dict[str, Any]
    role: str
    channel: str
    seed: int
    level: str | None
    clauses: tuple[ClauseResult, ...]
    counts: dict[str, int]
    seconds: float
    levels: dict[str, ClauseVerdict] = {}
    remarks: tuple[str, ...] = ()
    smallest: tuple[SmallestRun, ...] = ()
    stages: dict[str, str] = {}
    part_of: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[str, ...]:
        """The ids of the clauses that fail."""
        return tuple(each.id for each in self.clauses if each.verdict is ClauseVerdict.FAIL)

    @property
    def left_out(self) -> tuple[ClauseResult, ...]:
        """The clauses that the user did not select, by group or by level."""
        return tuple(each for each in self.clauses if each.reason in {DESELECTED, NOT_IN_LEVEL})

    @property
    def tried(self) -> tuple[ClauseResult, ...]:
        """The clauses that the user selected."""
        return tuple(each for each in self.clauses if each not in self.left_out)

    @property
    def missed(self) -> tuple[ClauseResult, ...]:
        """The clauses that were selected and not exercised."""
        return tuple(each for each in self.tried if each.verdict is ClauseVerdict.NOT_EXERCISED)
