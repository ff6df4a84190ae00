"""The producer goes on after it was killed."""

from __future__ import annotations

from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    """What was told as sent before a kill is not put again after it, and what was left is put."""
    stored = {each.message_id for each in history.stored}
    findings, exposure = [], 0
    for life in history.kills():
        end = life.ended or 0.0
        after = [put for put in history.puts() if put.life > life.number]
        if not any(each.number > life.number for each in history.lives):
            continue
        exposure += 1
        told = {each.message_id for each in history.told if each.life <= life.number}
        again = {entry.message_id for put in after for entry in put.entries} & told
        if again:
            findings.append(
                Finding(
                    f"{len(again)} messages told before the kill at {end:.2f} s were put again after it",
                    life.level,
                    {"messageIds": sorted(map(str, again))[:5]},
                )
            )
        lost = [sent.message_id for sent in history.sent if sent.message_id not in stored]
        if lost:
            findings.append(
                Finding(
                    f"{len(lost)} messages were not put after the kill at {end:.2f} s",
                    life.level,
                    {"messageIds": lost[:5]},
                )
            )
    return judged(exposure, findings)


CLAUSE = Clause(
    id="resumes-after-a-kill",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.GOLD,
    demand="After SIGKILL the producer puts what is left, and nothing that it has told as sent.",
    source="RDSS Message API 4.0.0, Message Gateway: local data repository",
    exercise="The producer is killed while a call is under way, and after it has told.",
    needed=2,
    judge=judge,
    channels=ALL_CHANNELS,
)
