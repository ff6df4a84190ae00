"""No message is processed twice."""

from __future__ import annotations

from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.consumer_clauses.repeats import definite_repeats
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    findings = [
        Finding(
            f"{told.message_id} was told {times} times, at {first.at:.2f} s and {told.at:.2f} s",
            history.level_at(told.at),
            {"messageId": told.message_id, "times": times, "life": told.life},
        )
        for told, first, _, times in definite_repeats(history)
    ]
    seen: set[str] = set()
    repeats = 0
    for read in history.reads():
        for each in read.records:
            if each.message_id in seen:
                repeats += 1
            elif each.message_id is not None:
                seen.add(each.message_id)
    return judged(repeats, findings)


CLAUSE = Clause(
    id="nothing-twice",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.BRONZE,
    demand="A message that comes twice is processed once.",
    source="RDSS Message API 4.0.0, Message Gateway: duplicates are detected by messageId",
    exercise="Producers send again, and the broker delivers again; the consumer is restarted.",
    needed=3,
    judge=judge,
    channels=ALL_CHANNELS,
)
