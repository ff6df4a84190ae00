"""The certificate: a verdict for each clause, the level reached, and what is needed to see it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from rdss_sandbox.shapes.certificate import ClauseResult, ClauseVerdict
from sandbox.certify.clause import (
    EXITED_EARLY,
    NEEDS_PATIENCE,
    NEVER_LANDED,
    NEVER_USED,
    Clause,
    Judgement,
    judge_clause,
)
from sandbox.certify.history import History, Level
from schemas.bound import CONTRACT
from schemas.contract import Contract

KIT_VERSION: Final = 1
_NONE: Final[Mapping[str, str]] = {}


def judge_clauses(
    clauses: Iterable[Clause],
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
        for clause in clauses
    )
    return results, find_level(results)


def judge_exposure(judgement: Judgement, needed: float) -> tuple[ClauseVerdict, str | None]:
    """The verdict of a judgement, and its reason where it neither passes nor fails."""
    if judgement.findings:
        return ClauseVerdict.FAIL, None
    if not judgement.exposure and judgement.reason == NEVER_USED:
        return ClauseVerdict.NOT_APPLICABLE, NEVER_USED
    if judgement.exposure < needed:
        return ClauseVerdict.NOT_EXERCISED, judgement.reason
    return ClauseVerdict.PASS, None


def find_level(results: Iterable[ClauseResult]) -> str | None:
    """The name of the highest level reached."""
    levels = reversed(judge_levels(results).items())
    return next((name for name, each in levels if each is ClauseVerdict.PASS), None)


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
    verdict, reason = judge_exposure(replace(judgement, reason=_reason(judgement, history)), clause.needed)
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
        clause.advise(),
    )


def _reason(judgement: Judgement, history: History) -> str:
    if judgement.reason != NEVER_LANDED:
        return judgement.reason
    if any(end.impatient for end in history.ends):
        return NEEDS_PATIENCE
    gone = any(life.end == "itself" and life.code for life in history.lives)
    return EXITED_EARLY if gone else NEVER_LANDED
