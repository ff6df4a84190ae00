"""No message is processed twice."""

from __future__ import annotations

from collections import defaultdict

from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level, Told


def judge(history: History) -> Judgement:
    """A message told once more by the next life after a SIGKILL is excused, one for each kill.

    The consumer tells before it writes its checkpoint, so that one repeat is indefinite.
    """
    excused = {life.number + 1: 1 for life in history.kills()}
    told: dict[str, list[Told]] = defaultdict(list)
    findings = []
    wanted = {sent.message_id: sent for sent in history.sent}
    for each in history.told:
        if each.message_id not in wanted:
            continue
        before = told[each.message_id]
        if before and before[-1].life == each.life - 1 and excused.get(each.life, 0):
            excused[each.life] -= 1
        elif before:
            findings.append(
                Finding(
                    f"{each.message_id} was told {len(before) + 1} times, at {before[0].at:.2f} s "
                    f"and {each.at:.2f} s",
                    history.level_at(each.at),
                    {"messageId": each.message_id, "times": len(before) + 1, "life": each.life},
                )
            )
        before.append(each)
    return judged(_repeats(history), findings)


def _repeats(history: History) -> int:
    """How often a message was given to the client again after it had been given before."""
    seen: set[str] = set()
    repeats = 0
    for read in history.reads():
        for each in read.records:
            if each.message_id in seen:
                repeats += 1
            elif each.message_id is not None:
                seen.add(each.message_id)
    return repeats


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
)
