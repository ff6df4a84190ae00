"""The certificate: a verdict for each clause, the level reached, and what is needed to see it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from sandbox.certify.clause import Clause, Finding, Judgement, judge_clause
from sandbox.certify.history import History, Level
from sandbox.certify.shrinking import SmallestRun

KIT_VERSION: Final = 1
DESELECTED: Final = "deselected"
NOT_IN_LEVEL: Final = "not-in-level"
_NONE: Final[Mapping[str, str]] = {}


class ClauseVerdict(StrEnum):
    """``not exercised`` is never a pass: what the clause is about did not reach the client often enough."""

    PASS = "pass"  # noqa: S105 -- the word of a verdict
    FAIL = "fail"
    NOT_EXERCISED = "not exercised"


class ClauseResult(msgspec.Struct, frozen=True):
    """A clause as it was judged; ``reason`` says why it was not exercised, ``replay`` repeats the run."""

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


class Certificate(msgspec.Struct, frozen=True):
    """What ``sandbox certify --json`` prints. ``level`` is the highest one reached, or None."""

    kit: dict[str, Any]
    subject: dict[str, Any]
    role: str
    channel: str
    seed: int
    level: str | None
    clauses: tuple[ClauseResult, ...]
    counts: dict[str, int]
    seconds: float
    smallest: SmallestRun | None = None

    @property
    def failed(self) -> tuple[str, ...]:
        """The ids of the clauses that fail."""
        return tuple(each.id for each in self.clauses if each.verdict is ClauseVerdict.FAIL)

    @property
    def left_out(self) -> tuple[ClauseResult, ...]:
        """The clauses that the user did not select, by group or by level."""
        return tuple(each for each in self.clauses if each.reason in {DESELECTED, NOT_IN_LEVEL})

    @property
    def missed(self) -> tuple[ClauseResult, ...]:
        """The clauses that were selected and not exercised."""
        return tuple(
            each
            for each in self.clauses
            if each.verdict is ClauseVerdict.NOT_EXERCISED and each not in self.left_out
        )


def judge_clauses(
    wanted: Iterable[Clause], history: History, replay: str, left_out: Mapping[str, str] = _NONE
) -> tuple[tuple[ClauseResult, ...], str | None]:
    """Judge every clause; return the results, and the name of the highest level reached.

    A clause whose judge raises is not exercised, for the reason ``judge-error``; the others are judged.
    ``left_out`` gives the reason for each clause, by its id, that was not tried because the user said so. A
    level to which such a clause belongs is not reached.
    """
    judgements = [
        (
            clause,
            Judgement(0, (), left_out[clause.id]) if clause.id in left_out else judge_clause(clause, history),
        )
        for clause in wanted
    ]
    results = tuple(_result(clause, judgement, history, replay) for clause, judgement in judgements)
    reached = None
    for level in Level:
        of_level = [(clause, found) for clause, found in judgements if clause.level <= level]
        if not any(clause.level is level for clause, _ in of_level):
            break
        if not all(_holds(found, clause, level) for clause, found in of_level):
            break
        reached = level.name.lower()
    return results, reached


def count_verdicts(results: Sequence[ClauseResult]) -> dict[str, int]:
    """How many clauses have each verdict."""
    found = Counter(each.verdict for each in results)
    return {verdict.value: found[verdict] for verdict in ClauseVerdict}


def _holds(judgement: Judgement, clause: Clause, level: Level) -> bool:
    breached = any(finding.level <= level for finding in judgement.findings)
    return not breached and judgement.exposure >= clause.needed


def _result(clause: Clause, judgement: Judgement, history: History, replay: str) -> ClauseResult:
    verdict, reason = ClauseVerdict.PASS, None
    if judgement.findings:
        verdict = ClauseVerdict.FAIL
    elif judgement.exposure < clause.needed:
        verdict, reason = ClauseVerdict.NOT_EXERCISED, _reason(judgement, history)
    return ClauseResult(
        clause.id,
        clause.group,
        verdict,
        judgement.exposure,
        clause.needed,
        reason,
        clause.demand,
        clause.source,
        judgement.findings,
        replay,
    )


def _reason(judgement: Judgement, history: History) -> str:
    gone = any(life.end == "itself" and life.code for life in history.lives)
    if judgement.reason == "stimulus-never-landed" and gone:
        return "client-exited-early"
    return judgement.reason
