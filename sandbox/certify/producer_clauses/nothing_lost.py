"""Every message reaches the stream."""

from __future__ import annotations

from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    stored = {each.message_id for each in history.stored}
    told = history.times_told()
    findings = [
        Finding(
            f"{sent.message_id} is not in the stream"
            + (", although it was told as sent" if sent.message_id in told else ""),
            sent.level,
            {"messageId": sent.message_id, "told": sent.message_id in told},
        )
        for sent in history.sent
        if sent.message_id not in stored
    ]
    return judged(len(history.sent), findings)


CLAUSE = Clause(
    id="nothing-lost",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.BRONZE,
    demand="Every message of the file is in the stream at the end, and every message told as sent.",
    source="RDSS Message API 4.0.0, Message Gateway: at-least-once delivery",
    exercise="The producer gets a file of messages, and the same file at each of its starts.",
    needed=10,
    judge=judge,
    channels=ALL_CHANNELS,
)
