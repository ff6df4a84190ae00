"""The pauses between tries are those of the specification."""

from __future__ import annotations

from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level
from sandbox.certify.producer_clauses.backs_off import pauses_after_throttling

_FIRST_SECONDS = 0.2
_EARLY = 0.9
_LATE = 2.0
_LATE_SECONDS = 0.3


def judge(history: History) -> Judgement:
    """The n-th pause is 200 ms times two to the n; a loaded machine may make it longer."""
    findings, exposure = [], 0
    for pauses in pauses_after_throttling(history):
        for number, pause in enumerate(pauses):
            exposure += 1
            wanted = _FIRST_SECONDS * 2**number
            if not wanted * _EARLY <= pause <= wanted * _LATE + _LATE_SECONDS:
                findings.append(
                    Finding(
                        f"pause {number + 1} took {pause * 1000:.0f} ms, not {wanted * 1000:.0f} ms",
                        Level.GOLD,
                        {"pause": number + 1, "seconds": round(pause, 3)},
                    )
                )
    return judged(exposure, findings)


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
