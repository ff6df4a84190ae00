"""A verdict: one line for each claim, what was observed beside what it must be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """``inconclusive``: nothing was wrong, but something that should be shown did not happen."""

    PASS = "pass"  # noqa: S105 -- the word of a verdict
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """A claim: ``holds`` is None when it could not be put to the test."""

    claim: str
    observed: str
    expected: str
    holds: bool | None


def verdict_of(lines: Iterable[VerdictLine]) -> Verdict:
    """Of all the lines together."""
    answers = {line.holds for line in lines}
    if False in answers:
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE if None in answers else Verdict.PASS
