"""A verdict: a line for each claim with its observed and its expected value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """``inconclusive`` means that no claim failed, but something to be shown did not happen."""

    PASS = "pass"  # noqa: S105 -- the word of a verdict
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """A claim; ``holds`` is None when it could not be tested."""

    claim: str
    observed: str
    expected: str
    holds: bool | None


def verdict_of(lines: Iterable[VerdictLine]) -> Verdict:
    """The verdict of all lines together: fail if one fails, inconclusive if one is undecided."""
    answers = {line.holds for line in lines}
    if False in answers:
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE if None in answers else Verdict.PASS
