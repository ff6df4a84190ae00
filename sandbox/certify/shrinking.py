"""Making a failure small: fewer stages, then fewer messages, each tried several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from sandbox.certify.clause import Clause, Finding, judge_clause
from sandbox.certify.history import History
from sandbox.certify.stages import Stage

_TRIES: Final = 3
_FEWEST_MESSAGES: Final = 4


class SmallestRun(msgspec.Struct, frozen=True):
    """The shortest run that still fails a clause: its stages, of how many, and how often it fails.

    ``replay`` is the command that repeats it.
    """

    clause: str
    stages: tuple[str, ...]
    of: int
    messages: int
    tries: int
    fails: int
    said: str
    replay: str

    @property
    def sentence(self) -> str:
        """The run in words."""
        return (
            f"{self.clause} fails {self.fails} of {self.tries} times "
            f"with {len(self.stages)} of {self.of} stages ({', '.join(self.stages)}) "
            f"and {self.messages} messages: {self.said}"
        )


def shrink(
    clause: Clause,
    planned: Sequence[Stage],
    play: Callable[[Sequence[Stage]], History],
    replay: Callable[[Sequence[Stage]], str],
    progress: Callable[[str], None],
) -> SmallestRun:
    """Find the shortest run that still fails a clause, and say how often it does.

    A stage is tried alone first, since nearly every failure needs one only; then its messages are halved.
    ``play`` plays stages, and ``replay`` gives the command that plays them.
    """
    best, finding = tuple(planned), None
    for stage in sorted(planned, key=lambda each: each.clause != clause.id):
        progress(f"making it small: {stage.name} alone")
        if (seen := _finding(clause, play([stage]))) is not None:
            best, finding = (stage,), seen
            break
    while len(best) == 1 and best[0].messages // 2 >= _FEWEST_MESSAGES:
        fewer = (msgspec.structs.replace(best[0], messages=best[0].messages // 2),)
        progress(f"making it small: {fewer[0].messages} messages")
        if (seen := _finding(clause, play(fewer))) is None:
            break
        best, finding = fewer, seen
    fails = 0
    for number in range(_TRIES):
        progress(f"repeating it: {number + 1} of {_TRIES}")
        if (seen := _finding(clause, play(best))) is not None:
            fails, finding = fails + 1, seen
    return SmallestRun(
        clause.id,
        tuple(each.name for each in best),
        len(planned),
        sum(each.messages for each in best),
        _TRIES,
        fails,
        finding.said if finding else "it did not fail again",
        replay(best),
    )


def _finding(clause: Clause, history: History) -> Finding | None:
    findings = judge_clause(clause, history).findings
    return findings[0] if findings else None
