"""Repeating failures: each in its stage alone, and the most telling one with fewer messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Final, TypeAlias

import msgspec

from emulator.clock import stopwatch
from rdss_sandbox.shapes.certificate import Finding, SmallestRun
from sandbox.certify.clause import Clause, judge_clause
from sandbox.certify.history import History
from sandbox.certify.stages import Stage

SECONDS: Final = 60.0
"""How long a failure is made small, unless somebody asks for more."""
_TRIES: Final = 3
_FEWEST_MESSAGES: Final = 4
Play: TypeAlias = Callable[[Stage, float], History]
"""Plays one stage for so many seconds at most."""


def repeat_failures(
    failed: Mapping[str, Sequence[Clause]],
    planned: Sequence[Stage],
    play: Play,
    *,
    replay: Callable[[Stage], str],
    progress: Callable[[str], None],
    seconds: float,
) -> tuple[SmallestRun, ...]:
    """Repeat the stages in which clauses failed, and count how often they fail there again.

    ``failed`` has the clauses by the name of the stage, the most telling ones first; of the first the
    messages are halved too, as long as it fails. Nothing lasts longer than ``seconds``.
    """
    until = stopwatch() + seconds
    found: list[SmallestRun] = []
    for name, clauses in failed.items():
        stage = next((each for each in planned if each.name == name), None)
        if stage is None:
            continue
        if not found:
            stage = _halve(stage, clauses[0], play, progress, until)
        tries: list[dict[str, Finding]] = []
        for number in takewhile(lambda _: stopwatch() < until, range(_TRIES)):
            progress(f"repeating {name} alone: {number + 1} of {_TRIES}")
            history = play(stage, until - stopwatch())
            tries.append({each.id: seen for each in clauses if (seen := _finding(each, history))})
            if stopwatch() >= until:
                tries.pop()
        found += [_run(each.id, stage, len(planned), tries, replay(stage)) for each in clauses if tries]
    return tuple(found)


def _halve(stage: Stage, clause: Clause, play: Play, progress: Callable[[str], None], until: float) -> Stage:
    """The stage with the fewest messages with which the clause still fails."""
    while stage.messages // 2 >= _FEWEST_MESSAGES and stopwatch() < until:
        fewer = msgspec.structs.replace(stage, messages=stage.messages // 2)
        progress(f"making it small: {stage.name} with {fewer.messages} messages")
        if _finding(clause, play(fewer, until - stopwatch())) is None or stopwatch() >= until:
            break
        stage = fewer
    return stage


def _run(
    clause: str, stage: Stage, of: int, tries: Sequence[Mapping[str, Finding]], replay: str
) -> SmallestRun:
    fails = [each[clause] for each in tries if clause in each]
    outcome = fails[0].said if fails else "it did not fail again"
    sentence = (
        f"{clause} fails {len(fails)} of {len(tries)} times in the stage {stage.name} alone, "
        f"one of {of}, with {stage.messages} messages: {outcome}"
    )
    return SmallestRun(
        clause, stage.name, of, stage.messages, len(tries), len(fails), outcome, replay, sentence
    )


def _finding(clause: Clause, history: History) -> Finding | None:
    return next(iter(judge_clause(clause, history).findings), None)
