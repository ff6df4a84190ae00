"""The certificate: a verdict for each clause, the level reached, and what is needed to see it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from sandbox.certify.clause import NEVER_LANDED, NEVER_USED, Clause, Finding, Judgement, judge_clause
from sandbox.certify.history import History, Level
from sandbox.certify.shrinking import SmallestRun
from schemas.bound import CONTRACT
from schemas.contract import Contract

KIT_VERSION: Final = 1
DESELECTED: Final = "deselected"
NOT_IN_LEVEL: Final = "not-in-level"
NEEDS_PATIENCE: Final = "needs-patience"
_NONE: Final[Mapping[str, str]] = {}


class ClauseVerdict(StrEnum):
    """``not exercised`` is never a pass: what the clause is about did not reach the client often enough.

    ``not applicable`` bars no level: the client does not work in the way that the clause is about.
    """

    PASS = "pass"  # noqa: S105 -- the word of a verdict
    FAIL = "fail"
    NOT_EXERCISED = "not exercised"
    NOT_APPLICABLE = "not applicable"


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
    level: str = "bronze"


class Certificate(msgspec.Struct, frozen=True):
    """What ``sandbox certify --json`` prints. ``level`` is the highest one reached, or None.

    ``levels`` has a verdict for each level: of its own clauses and those below, the worst. ``remarks`` are
    sentences that come before any verdict, such as that the client told nothing.
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
    wanted: Iterable[Clause],
    history: History,
    replay: str,
    left_out: Mapping[str, str] = _NONE,
    contract: Contract = CONTRACT,
) -> tuple[tuple[ClauseResult, ...], str | None]:
    """Judge every clause; return the results, and the name of the highest level reached.

    A clause whose judge raises is not exercised, for the reason ``judge-error``; the others are judged.
    ``left_out`` gives the reason for each clause, by its id, that was not tried because the user said so. A
    level to which such a clause belongs is not reached.
    """
    results = tuple(
        _result(
            clause,
            Judgement(0, (), left_out[clause.id]) if clause.id in left_out else judge_clause(clause, history),
            history,
            replay,
            contract,
        )
        for clause in wanted
    )
    levels = reversed(judge_levels(results).items())
    return results, next((name for name, each in levels if each is ClauseVerdict.PASS), None)


def judge_levels(results: Iterable[ClauseResult]) -> dict[str, ClauseVerdict]:
    """The verdict of each level that has clauses: the worst of its clauses and those of the levels below."""
    results, found = tuple(results), {}
    for level in Level:
        of_level = [each.verdict for each in results if Level[each.level.upper()] <= level]
        if any(each.level == level.name.lower() for each in results):
            found[level.name.lower()] = next(
                (each for each in (ClauseVerdict.FAIL, ClauseVerdict.NOT_EXERCISED) if each in of_level),
                ClauseVerdict.PASS,
            )
    return found


def count_verdicts(results: Sequence[ClauseResult]) -> dict[str, int]:
    """How many clauses have each verdict."""
    found = Counter(each.verdict for each in results)
    return {verdict.value: found[verdict] for verdict in ClauseVerdict}


def _result(
    clause: Clause, judgement: Judgement, history: History, replay: str, contract: Contract
) -> ClauseResult:
    verdict, reason = ClauseVerdict.PASS, None
    if judgement.findings:
        verdict = ClauseVerdict.FAIL
    elif not judgement.exposure and judgement.reason == NEVER_USED:
        verdict, reason = ClauseVerdict.NOT_APPLICABLE, NEVER_USED
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
        clause.cite(contract),
        judgement.findings,
        replay,
        clause.level.name.lower(),
    )


def _reason(judgement: Judgement, history: History) -> str:
    if judgement.reason != NEVER_LANDED:
        return judgement.reason
    if any(end.impatient for end in history.ends):
        return NEEDS_PATIENCE
    gone = any(life.end == "itself" and life.code for life in history.lives)
    return "client-exited-early" if gone else NEVER_LANDED
