"""The pauses between tries are those of the specification."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from statistics import median

from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level
from sandbox.certify.producer_clauses.backs_off import pauses_after_throttling

_FIRST_SECONDS = 0.2
_EARLY = 0.9
_LATE = 2.0
_LATE_SECONDS = 0.3


def judge(history: History) -> Judgement:
    """The n-th pause is 200 ms times two to the n.

    A loaded machine makes some pauses longer, and none shorter. So each may be too short, and only the
    shortest of all n-th pauses too long: by more than the producer usually takes from call to call.
    """
    by_number: dict[int, list[float]] = defaultdict(list)
    for pauses in pauses_after_throttling(history):
        for number, pause in enumerate(pauses):
            by_number[number].append(pause)
    usual, findings = _usual_gap(history), []
    for number, pauses in by_number.items():
        wanted = _FIRST_SECONDS * 2**number
        late = min(pauses) > wanted * _LATE + _LATE_SECONDS + usual
        findings += [
            Finding(
                f"pause {number + 1} took {pause * 1000:.0f} ms, not {wanted * 1000:.0f} ms",
                Level.GOLD,
                {"pause": number + 1, "seconds": round(pause, 3)},
            )
            for pause in pauses
            if late or pause < wanted * _EARLY
        ]
    return judged(sum(map(len, by_number.values())), findings)


def _usual_gap(history: History) -> float:
    """The median time in seconds from the answer to a call that went well to the next call of that start."""
    gaps = [
        after.asked - before.at
        for before, after in pairwise(history.puts())
        if before.life == after.life and not before.error and not any(each.error for each in before.entries)
    ]
    return median(gaps) if gaps else 0.0


CLAUSE = Clause(
    id="back-off-as-specified",
    role=Role.PRODUCER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="A message that cannot be sent is tried again after 200 ms, and twice as long each time.",
    source="RDSS Message API 4.0.0, Message Gateway: exponential back-off",
    exercise="Some messages are refused three times in a row.",
    needed=4,
    judge=judge,
)
