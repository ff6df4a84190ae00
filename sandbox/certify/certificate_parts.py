"""A certificate of parts: the stages of one run, played apart and at the same time."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final

import msgspec

from rdss_sandbox.shapes.certificate import Certificate, ClauseResult, Finding
from sandbox.certify.clause import (
    EXITED_EARLY,
    JUDGE_ERROR,
    MOST_FINDINGS,
    NEEDS_PATIENCE,
    NEVER_LANDED,
    NEVER_USED,
    NOTHING_TOLD,
    Judgement,
)
from sandbox.certify.clause_verdicts import count_verdicts, find_level, judge_exposure, judge_levels

_SAME: Final[Mapping[str, Callable[[Certificate], Any]]] = {
    "sandbox": lambda part: part.kit["sandbox"],
    "version of the clauses": lambda part: part.kit["version"],
    "contract": lambda part: part.kit.get("contract"),
    "client": lambda part: shlex.join(part.subject["command"]),
    "digests of the client's files": lambda part: part.subject["files"],
    "role": lambda part: part.role,
    "channel": lambda part: part.channel,
    "seed": lambda part: part.seed,
    "stages of the whole run": lambda part: ", ".join(part.part_of),
    "command without its stages": lambda part: whole_command(part.clauses[0].replay),
}
"""What the parts of one run have in common."""
_WEAK: Final = (NEVER_USED, NEEDS_PATIENCE, EXITED_EARLY, NEVER_LANDED)
"""The reasons of a part that any other says more than, the strongest first."""


class PartsError(ValueError):
    """The parts do not make one run; the text says which, and why."""


def merge_parts(parts: Mapping[str, Certificate]) -> Certificate:
    """The certificate of the whole run, of those of its parts by their names.

    It is that of one run but for what no two runs have in common: seconds and moments, how often the client
    itself reads and repeats, and the smallest failing runs, which are those of each part. Evidence stands in
    the order of the stages. Raises ``PartsError``.
    """
    _check_alike(parts)
    _check_stages(parts)
    planned = next(iter(parts.values())).part_of
    ordered = sorted(parts.values(), key=lambda part: min(map(planned.index, part.stages)))
    first, judged = ordered[0], ordered
    if any(each.reason == NOTHING_TOLD for each in first.clauses):
        # A run ends there: what came later would be judged by what nobody told.
        judged = [first]
    clauses = tuple(_merge_clause(each) for each in zip(*(part.clauses for part in judged), strict=True))
    does = {name: said for part in ordered for name, said in part.stages.items()}
    return msgspec.structs.replace(
        first,
        clauses=clauses,
        level=find_level(clauses),
        levels=judge_levels(clauses),
        counts=count_verdicts(clauses),
        seconds=round(sum(part.seconds for part in ordered), 1),
        remarks=tuple(_list_remarks(judged)),
        smallest=tuple(each for part in ordered for each in part.smallest),
        stages={name: does[name] for name in planned},
        part_of=(),
    )


def whole_command(replay: str) -> str:
    """The command that repeats the whole run, of one that repeats some of its stages."""
    words = shlex.split(replay)
    end = words.index("--")
    options = iter(words[:end])
    kept = [each for each in options if each != "--stage" or not next(options, None)]
    return shlex.join([*kept, *words[end:]])


def _check_alike(parts: Mapping[str, Certificate]) -> None:
    for name, part in parts.items():
        if not part.part_of:
            raise PartsError(
                f"{name} is no part of a run: a part is made with --stage NAME, and no number of messages"
            )
    one, *others = parts.items()
    for what, find in _SAME.items():
        for name, part in others:
            if find(part) != find(one[1]):
                raise PartsError(
                    f"{name} and {one[0]} are not of one run: the {what}: {find(part)}, and {find(one[1])}"
                )


def _check_stages(parts: Mapping[str, Certificate]) -> None:
    found: dict[str, str] = {}
    for name, part in parts.items():
        for stage in part.stages:
            if stage in found:
                raise PartsError(f"the stage {stage} is in {found[stage]} and in {name}: leave one out")
            found[stage] = name
    if missing := [stage for stage in next(iter(parts.values())).part_of if stage not in found]:
        raise PartsError(f"no part has the stage {', '.join(missing)}: certify with --stage for each of them")


def _merge_clause(results: Sequence[ClauseResult]) -> ClauseResult:
    """A clause as the run of all parts shows it: what tried it is counted together."""
    exposure = sum(each.exposure for each in results)
    evidence = tuple(_join_evidence(results))
    reasons = [each.reason for each in results if each.reason]
    unseen = [each for each in reasons if each == NOTHING_TOLD or each.startswith(JUDGE_ERROR)]
    # What one part could not see at all, the others do not make up for.
    needed = inf if unseen else results[0].needed
    reason = min(unseen or reasons, key=_weigh, default=NEVER_LANDED)
    verdict, why = judge_exposure(Judgement(exposure, evidence, reason), needed)
    return msgspec.structs.replace(
        results[0],
        verdict=verdict,
        exposure=exposure,
        reason=why,
        evidence=evidence,
        replay=whole_command(results[0].replay),
    )


def _weigh(reason: str) -> int:
    return _WEAK.index(reason) if reason in _WEAK else -1


def _join_evidence(results: Iterable[ClauseResult]) -> Iterator[Finding]:
    """The evidence of all parts: that the client ended by itself comes first, as in one run."""
    ends = {"start"}
    every = [finding for each in results for finding in each.evidence]
    yield from (each for each in every if each.facts.keys() == ends)
    yield from [each for each in every if each.facts.keys() != ends][:MOST_FINDINGS]


def _list_remarks(parts: Sequence[Certificate]) -> Iterator[str]:
    """The remarks of all parts, each once, those that every part has last."""
    every = dict.fromkeys(remark for part in parts for remark in part.remarks)
    yield from sorted(every, key=lambda remark: all(remark in part.remarks for part in parts))
