"""A bad message does not stop the good ones behind it."""

from __future__ import annotations

from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level

_STAGES = {"bad messages", "expired messages"}


def judge(history: History) -> Judgement:
    told = history.times_told()
    first = min((each.at for each in history.bad), default=float("inf"))
    behind = [sent for sent in history.sent if sent.at >= first]
    findings = [
        Finding(
            f"{sent.message_id}, sent behind a bad message, was not processed",
            Level.GOLD,
            {"messageId": sent.message_id},
        )
        for sent in behind
        if sent.message_id not in told
    ]
    findings += [
        Finding(
            f"the consumer ended by itself with exit code {life.code} among bad messages",
            Level.GOLD,
            {"code": life.code, "output": life.output[-3:]},
        )
        for life in history.lives
        if life.end == "itself" and life.stage in _STAGES
    ]
    return judged(len(behind) if history.bad else 0, findings)


CLAUSE = Clause(
    id="poison-stops-nothing",
    role=Role.CONSUMER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="What cannot be processed does not hold up what comes behind it.",
    source="RDSS Message API 4.0.0, Error Queues",
    exercise="Good messages are sent between bad ones.",
    needed=5,
    judge=judge,
    channels=ALL_CHANNELS,
)
